import { AsyncLocalStorage } from 'node:async_hooks';
import type { ServerEvent, ServerEventBus } from '@modelcontextprotocol/server';
import type { Response } from 'express';
import { AppError } from '#shared/core/errors.ts';
import { isJsonObject } from '#shared/core/json.ts';
import type { Messages } from '#shared/messaging/backplane/types.ts';
import { OFFERED_TOOLS } from '../assets/offered-tools.ts';

/** Streams of one tenant in a process: each holds a connection. */
const MAX_STREAMS = 50;
/** After that a stream ends, so that its client shows its credential again. */
const STREAM_MS = 30 * 60_000;

export interface ToolEvents extends Disposable {
  /** For the library, which subscribes for each stream while it serves the request for it. */
  readonly bus: ServerEventBus;
  /** Serves a message of a client of the tenant. */
  serve(tenantID: string, request: { body: unknown; response: Response }, work: () => Promise<void>): Promise<void>;
}

/** Changes of the list of tools, each told to the streams of its tenant alone. */
export function createToolEvents(messages: Messages): ToolEvents {
  const tenant = new AsyncLocalStorage<string>();
  const listeners = new Map<string, Set<(event: ServerEvent) => void>>();
  const streams = new Map<string, number>();
  const end = messages.subscribe(OFFERED_TOOLS, (tenantID) => {
    for (const listener of listeners.get(String(tenantID)) ?? []) listener({ kind: 'tools_list_changed' });
  });

  function subscribe(listener: (event: ServerEvent) => void): () => void {
    const tenantID = tenant.getStore() ?? '';
    const own = listeners.get(tenantID) ?? new Set();
    listeners.set(tenantID, own.add(listener));
    return () => {
      own.delete(listener);
      if (own.size === 0) listeners.delete(tenantID);
    };
  }

  function countStream(tenantID: string, response: Response): void {
    const open = streams.get(tenantID) ?? 0;
    if (open >= MAX_STREAMS)
      throw new AppError('RATE_LIMITED', `subscriptions/listen: a tenant has at most ${MAX_STREAMS} streams at once`);
    streams.set(tenantID, open + 1);
    const timer = setTimeout(() => response.end(), STREAM_MS).unref();
    response.once('close', () => {
      clearTimeout(timer);
      const left = (streams.get(tenantID) ?? 1) - 1;
      if (left > 0) streams.set(tenantID, left);
      else streams.delete(tenantID);
    });
  }

  return {
    bus: { publish: () => undefined, subscribe },
    async serve(tenantID, { body, response }, work) {
      if (isJsonObject(body) && body.method === 'subscriptions/listen') countStream(tenantID, response);
      await tenant.run(tenantID, work);
    },
    [Symbol.dispose]: end,
  };
}
