import type { FlowKey } from '#shared/concurrency/fair-queue.ts';
import type { Reservation } from '#shared/concurrency/memory-budget.ts';
import type { ReadBody } from '../request/body.ts';
import type { UnknownFieldPolicy } from '../request/unknown-field-policy.ts';
import type { Request, Response } from '../route/route.ts';
import type { HttpServices } from './http-services.ts';
import type { Keys } from './idempotency.ts';

/** A request under way, of any realm. */
export interface RequestContext {
  services: HttpServices;
  readBody: ReadBody;
  keys: Keys;
  request: Request;
  response: Response;
  unknownFieldPolicy: UnknownFieldPolicy;
  /** The bytes that the request reserves until its response is sent, and the flow that reserves them. */
  reserved?: { flow: FlowKey; bytes: Reservation };
}
