import type { FlowKey } from '#shared/concurrency/fair-queue.ts';
import type { Reservation } from '#shared/concurrency/memory-budget.ts';
import type { ApiContext } from '../context.ts';
import type { ReadBody } from './body.ts';
import type { Handling } from './handling.ts';
import type { Keys } from './idempotency.ts';
import type { Request, Response } from './route.ts';

/** A request under way, of any realm. */
export interface Exchange {
  context: ApiContext;
  readBody: ReadBody;
  keys: Keys;
  request: Request;
  response: Response;
  handling: Handling;
  /** The bytes that the request holds until its answer is sent, and in whose turn it draws them. */
  held?: { flow: FlowKey; bytes: Reservation };
}
