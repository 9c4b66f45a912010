import { AsyncLocalStorage } from 'node:async_hooks';
import type { ServerEvent, ServerEventBus } from '@modelcontextprotocol/server';
import type { Response } from 'express';
import { CountMap } from '#shared/core/count-map.ts';
import { AppError } from '#shared/core/errors.ts';
import { isJsonObject } from '#shared/core/json.ts';
import type { Messages } from '#shared/messaging/backplane/types.ts';
import { OFFERED_TOOLS } from '../assets/offered-tools.ts';

/** Streams of one tenant in a process, and of one user in all tenants: each holds a connection. */
const MAX_OF_TENANT = 50;
const MAX_OF_USER = 20;
/** After that a stream ends, so that its client shows its credential again. */
const STREAM_MS = 30 * 60_000;

export interface ToolEvents extends Disposable {
  /** For the library, which subscribes for each stream while it serves the request for it. */
  readonly bus: ServerEventBus;
  /** Serves a message of a client of the tenant. */
  serve(client: Client, request: { body: unknown; response: Response }, work: () => Promise<void>): Promise<void>;
}

interface Client {
  tenantID: string;
  userID: string;
}

/** Changes of the list of tools, each told to the streams of its tenant alone. */
export function createToolEvents(messages: Messages): ToolEvents {
  const tenant = new AsyncLocalStorage<string>();
  const listeners = new Map<string, Set<(event: ServerEvent) => void>>();
  const streams = new CountMap();
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

  function countStream({ tenantID, userID }: Client, response: Response): void {
    // The client has gone while its message was read: `close` does not come again.
    if (response.destroyed) return;
    const [ofTenant, ofUser] = [`tenant ${tenantID}`, `user ${userID}`];
    if (streams.of(ofTenant) >= MAX_OF_TENANT) throw tooMany('tenant', MAX_OF_TENANT);
    if (streams.of(ofUser) >= MAX_OF_USER) throw tooMany('user', MAX_OF_USER);
    const count = (by: 1 | -1) => {
      streams.add(ofTenant, by);
      streams.add(ofUser, by);
    };
    count(1);
    const timer = setTimeout(() => response.end(), STREAM_MS).unref();
    response.once('close', () => {
      clearTimeout(timer);
      count(-1);
    });
  }

  return {
    bus: { publish: () => undefined, subscribe },
    async serve(client, { body, response }, work) {
      if (isJsonObject(body) && body.method === 'subscriptions/listen') countStream(client, response);
      await tenant.run(client.tenantID, work);
    },
    [Symbol.dispose]: end,
  };
}

function tooMany(whose: 'tenant' | 'user', max: number): AppError {
  return new AppError('RATE_LIMITED', `subscriptions/listen: a ${whose} has at most ${max} streams at once`);
}
