import { z } from 'zod';
import { defineQueue, type QueueDefinition } from './define-queue.ts';

/** The payload of a request's job. People on call can read it on the board, so the request itself is sealed. */
export const RPCJob = z.object({
  askID: z.uuid(),
  /** Channel of the waiting process. */
  replyTo: z.string(),
  /** Milliseconds since 1970. A worker does not begin later than this. */
  deadline: z.int(),
  sealed: z.string(),
  /** The flow in the fair queue: the tenant, or the user where there is no tenant. */
  tenantID: z.uuid().optional(),
  /** A lookup or a test, for which workers reserve permits. */
  isShort: z.boolean().optional(),
});

/** Channel on which a caller announces that it no longer waits. */
export const RPC_CANCEL = 'asks.cancel';
export const RPCCancel = z.object({ askID: z.uuid() });

/** The reply on the channel. Without `sealed` the response is in the table `ask_reply`, and `bytes` is its length. */
export const RPCReply = z.object({
  askID: z.uuid(),
  sealed: z.string().optional(),
  bytes: z.int().optional(),
});

/** The end of the request: `answered`, the code of the error that was the response, or the reason why a worker did not begin it. */
const RPCEnd = z.object({ outcome: z.string() });

/**
 * A queue of requests whose caller waits (`producer.request`). Delivered once: a request that a worker has begun is never begun by
 * another, because it may write.
 */
export interface RPCDefinition<
  Name extends string = string,
  Request extends z.ZodType = z.ZodType,
  Response extends z.ZodType = z.ZodType,
> extends QueueDefinition<Name, typeof RPCJob, typeof RPCEnd> {
  readonly request: Request;
  readonly response: Response;
  /** Default time limit of the caller. */
  readonly timeoutMs: number;
  /** Requests that one process may have under way, by kind of key: `{ tenant: 8, target: 4 }`. */
  readonly maxConcurrent: Readonly<Record<string, number>>;
  /** Whether the work of this request ends soon. */
  isShort(request: z.output<Request>): boolean;
}

interface RPCSettings<Name, Request extends z.ZodType, Response> {
  name: Name;
  request: Request;
  response: Response;
  timeoutMs: number;
  maxConcurrent: Readonly<Record<string, number>>;
  hasFewJobs?: boolean;
  /** Default: never. */
  isShort?: (request: z.output<Request>) => boolean;
}

/** Limit of requests of one queue that a worker has taken from it at once. Most of them wait in the worker for a permit (`acquirePermit`). */
const MAX_TAKEN = 2_000;

export function defineRPC<const Name extends string, Request extends z.ZodType, Response extends z.ZodType>({
  name,
  isShort = () => false,
  ...settings
}: RPCSettings<Name, Request, Response>): RPCDefinition<Name, Request, Response> {
  const queue = defineQueue({
    name,
    payload: RPCJob,
    result: RPCEnd,
    attempts: 1,
    backoffMs: 0,
    maxStalledCount: 0,
    isRetained: () => true,
    // Requests may be large, and their secrets need not outlive them, even sealed.
    readable: (payload) => ({ ...payload, sealed: '' }),
    concurrency: MAX_TAKEN,
    deadLetters: null,
    jobID: ({ askID }) => askID,
  });
  return { ...queue, ...settings, isShort };
}

/** Encryption context that binds a sealed request or response to its id. */
export function rpcContext(askID: string, part: 'question' | 'answer'): string {
  return `ask:${askID}:${part}`;
}
