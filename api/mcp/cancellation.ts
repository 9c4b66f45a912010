import { createHash } from 'node:crypto';
import type { Request, Response } from 'express';
import { z } from 'zod';
import type { Messages } from '#shared/messaging/backplane/types.ts';

const CHANNEL = 'mcp.cancelled';
const SESSION = 'mcp-session-id';

const RequestID = z.union([z.string(), z.number()]);
const Cancellation = z.object({
  method: z.literal('notifications/cancelled'),
  params: z.object({ requestId: RequestID }),
});
const Call = z.object({ method: z.literal('tools/call'), id: RequestID });

export interface Cancellations extends Disposable {
  /**
   * Reads a message. For a call it returns the signal of its cancellation; a cancellation is published to every process
   * of the service.
   */
  heed(sender: Sender, body: unknown, response: Response): AbortSignal | undefined;
}

interface Sender {
  tenantID: string;
  /** The user, or the API key. */
  callerID: string;
  /** Tells the clients of one caller apart, who all number their requests from 0. */
  sessionID: string | undefined;
}

/**
 * Cancellations of MCP 2025-11-25, which arrive as messages of their own, and often at another process than the call. A cancellation that
 * overtakes its call, or is lost on its way between processes, ends nothing: the call goes on to its end.
 */
export function createCancellations(messages: Messages): Cancellations {
  const calls = new Map<string, AbortController>();
  const end = messages.subscribe(CHANNEL, (key) => {
    if (typeof key === 'string') calls.get(key)?.abort(new Error('The client has cancelled the call'));
  });

  function begin(key: string, response: Response): AbortSignal {
    const controller = new AbortController();
    calls.set(key, controller);
    response.once('close', () => {
      if (calls.get(key) === controller) calls.delete(key);
    });
    return controller.signal;
  }

  return {
    heed(sender, body, response) {
      if (sender.sessionID === undefined) return undefined;
      const call = Call.safeParse(body);
      if (call.success) return begin(keyOf(sender, call.data.id), response);
      const cancellation = Cancellation.safeParse(body);
      if (cancellation.success)
        void messages.publish(CHANNEL, keyOf(sender, cancellation.data.params.requestId)).catch(() => undefined);
      return undefined;
    },
    [Symbol.dispose]: end,
  };
}

/**
 * A digest, so that the key is short however long the client's id is: a notification of Postgres has at most 8,000
 * bytes.
 */
function keyOf({ tenantID, callerID, sessionID }: Sender, requestID: string | number): string {
  return createHash('sha256')
    .update(JSON.stringify([tenantID, callerID, sessionID, requestID]))
    .digest('base64url');
}

/**
 * Gives a client an id in the response to `initialize`, which it sends with every later message. Nothing is stored under
 * the id.
 */
export function nameClient(body: unknown, response: Response): void {
  if (z.object({ method: z.literal('initialize') }).safeParse(body).success)
    response.setHeader(SESSION, crypto.randomUUID());
}

export function clientOf(request: Request): string | undefined {
  return request.get(SESSION);
}
