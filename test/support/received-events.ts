import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { findDatasourceType } from '#shared/datasources/types/index.ts';
import type { NewEvent } from '#shared/triggers/listeners/event-recorder.ts';
import { findListenerType } from '#shared/triggers/listeners/types/index.ts';
import { createCapacity } from '#workers/triggers/listeners/owner/capacity.ts';
import { createRecording } from '#workers/triggers/listeners/owner/recording.ts';
import { sourceOf } from '#workers/triggers/listeners/sources/index.ts';
import { openOutbound } from './connector.ts';
import { testLogger } from './environment.ts';

/** A connection of a listener, with a store that the test holds up. */
export interface Received extends AsyncDisposable {
  readonly listenerID: string;
  /** In the order in which they came to the store. */
  readonly events: readonly NewEvent[];
  readonly cursor: JsonObject | undefined;
  /** Resolves when events flow. Rejects if the connection ends before. */
  readonly ready: Promise<void>;
  /** Stores what waits and what comes. */
  store(): void;
  /** The database refuses what waits and what comes, so the connection ends. */
  refuse(): void;
  /** Resolves when the connection has ended, with its error. */
  readonly over: Promise<unknown>;
  /** Removes what it has made at its server. */
  remove(): Promise<void>;
}

interface Settings {
  options: JsonObject;
  config: JsonObject;
  cursor?: JsonObject | undefined;
  listenerID?: string;
  isStored?: boolean;
}

export async function receiveEvents(type: string, settings: Settings): Promise<Received> {
  const { listenerID = newID(), isStored = true } = settings;
  const source = await sourceOf(type);
  const ended = new AbortController();
  const { signal } = ended;
  const ready = Promise.withResolvers<void>();
  const stored = Promise.withResolvers<void>();
  if (isStored) stored.resolve();
  const events: NewEvent[] = [];
  let { cursor } = settings;
  const of = {
    ...{ tenantID: newID(), listenerID, signal },
    options: findDatasourceType(type)?.options.parse(settings.options),
    config: findListenerType(type)?.config.parse(settings.config),
  };
  const quota = { add: async () => undefined, addMany: async () => ({}) };
  const recording = createRecording(
    {
      recorder: {
        async record(event) {
          events.push(event);
          await stored.promise;
          return { eventID: event.id, duplicateOf: null };
        },
      },
      ...{ capacity: createCapacity(), events: quota as never, bytes: quota as never },
      untilOwned: async () => undefined,
    },
    { ...of, type, orderBy: '', onArrival: () => undefined, onFailure: (error) => ended.abort(error) },
  );
  // Only the gate: the sources of these types need no more of the worker.
  const services = { outbound: openOutbound } as never;
  const over = source.receive({
    ...{ ...of, services, logger: testLogger, cursor },
    ready: ready.resolve,
    record: recording.record,
    untilCapacity: recording.untilCapacity,
    recordFrom: recording.recordFrom,
    wasPausedSince: recording.wasPausedSince,
    keepCursor(next) {
      cursor = next;
    },
  });
  over.catch(ready.reject);
  ready.promise.catch(() => undefined);
  return {
    ...{ listenerID, events, ready: ready.promise, store: stored.resolve },
    refuse: () => stored.reject(Object.assign(new Error('refused'), { code: '22000' })),
    over: over.catch((error: unknown) => error),
    get cursor() {
      return cursor;
    },
    remove: async () => await source.removeRemoteResource?.({ ...of, services, signal: AbortSignal.timeout(10_000) }),
    async [Symbol.asyncDispose]() {
      ended.abort();
      await over.catch(() => undefined);
    },
  };
}
