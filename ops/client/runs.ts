import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { Answer, Call } from './calls.ts';
import { GantryError } from './errors.ts';
import type { ServerEvents } from './events.ts';
import { pause } from './send.ts';

type RunEventName =
  | 'workflow_node_update'
  | 'workflow_status_update'
  | 'workflow_data_collection_request'
  | 'workflow_log';

/** Events of a run, as sockets tell them. */
export type RunEvent = { [E in RunEventName]: { event: E; message: Parameters<ServerEvents[E]>[0] } }[RunEventName];

export type Run = Answer<'getWorkflowInstance'>;

export interface WatchedRun {
  tenantID: string;
  instanceID: string;
  signal?: AbortSignal;
}

export interface Runs {
  /** Every event of a run after `lastSeq`, each once and in order, until the run has ended. Lost connections are opened again. */
  watchRun(run: WatchedRun & { lastSeq?: number }): AsyncGenerator<RunEvent, void, undefined>;
  /** The run, when it has ended; a GantryError TIMEOUT if that is not within `timeoutMs`. A run that has failed is no error here. */
  waitForRun(run: WatchedRun & { timeoutMs?: number }): Promise<Run>;
}

/** The service sends something every 15 s. */
const SILENT_MS = 45_000;
/** For how long the service may be away while a run is watched, such as while it is restarted. */
const RECONNECT_MS = 60_000;

export function createRuns(call: Call): Runs {
  /** Undefined: there is nothing after `lastSeq`, and the run has ended. Waits while the service is away, or has too many streams open. */
  async function openStream({ tenantID, instanceID, signal }: WatchedRun, lastSeq: number) {
    const deadline = performance.now() + RECONNECT_MS;
    const asked = { path: { tenantID, instanceID }, query: { lastSeq }, ...(signal && { signal }) };
    for (;;) {
      try {
        return await call('streamWorkflowInstance', asked);
      } catch (error) {
        if (!isPassing(error) || performance.now() > deadline) throw error;
      }
      await pause(1, signal);
    }
  }

  async function* watchRun({ lastSeq = 0, ...run }: WatchedRun & { lastSeq?: number }) {
    let seq = lastSeq;
    for (let stream = await openStream(run, seq); stream; stream = await openStream(run, seq)) {
      for await (const change of changesIn(stream, run.signal)) {
        yield* change;
        seq = change.at(-1)?.message.seq ?? seq;
        if (change.some(isEnd)) return;
      }
      run.signal?.throwIfAborted();
      await pause(0.2, run.signal);
    }
  }

  async function waitForRun({ timeoutMs, ...run }: WatchedRun & { timeoutMs?: number }): Promise<Run> {
    const late = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
    const signal = AbortSignal.any([run.signal, late].filter((given) => given !== undefined));
    try {
      // Nothing of the events is kept: the run is read when it has ended.
      for await (const _event of watchRun({ ...run, signal }));
      return await call('getWorkflowInstance', { path: run, signal });
    } catch (error) {
      if (late?.aborted && !run.signal?.aborted)
        throw new GantryError(
          'TIMEOUT',
          `The run ${run.instanceID} has not ended within ${Number(timeoutMs) / 1_000} s`,
        );
      throw error;
    }
  }

  return { watchRun, waitForRun };
}

/** Events that belong together: of a change that is told by several messages, only the last one has an id to go on from. */
async function* changesIn(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<RunEvent[], void, undefined> {
  let change: RunEvent[] = [];
  for await (const { event, data, id } of messagesIn(stream, signal)) {
    change.push({ event, message: JSON.parse(data) } as RunEvent);
    if (id === undefined) continue;
    yield change;
    change = [];
  }
}

/** Ends with the connection, whether it was closed, lost, or has been silent for too long. */
async function* messagesIn(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<EventSourceMessage, void, undefined> {
  const received: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (message) => received.push(message) });
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  try {
    for (;;) {
      const bytes = await nextBytes(reader, signal);
      if (!bytes) return;
      parser.feed(decoder.decode(bytes, { stream: true }));
      yield* received.splice(0);
    }
  } finally {
    // Also when the caller has seen enough. What is cancelled after an error fails with that error.
    await reader.cancel().catch(() => undefined);
  }
}

/** Heeds the signal itself: `fetch` forgets it as soon as the request is garbage, and the stream would go on. */
async function nextBytes(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<Uint8Array | undefined> {
  signal?.throwIfAborted();
  let stop = () => {};
  let timer: NodeJS.Timeout | undefined;
  const ended = new Promise<undefined>((resolve, reject) => {
    stop = () => reject(signal?.reason);
    signal?.addEventListener('abort', stop, { once: true });
    timer = setTimeout(resolve, SILENT_MS, undefined);
  });
  try {
    const read = reader.read().then(
      ({ value }) => value,
      () => undefined,
    );
    return await Promise.race([read, ended]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}

/** Whether the service may answer later. */
function isPassing(error: unknown): boolean {
  return error instanceof GantryError && [0, 429, 502, 503, 504].includes(error.status);
}

function isEnd({ event, message }: RunEvent): boolean {
  return event === 'workflow_status_update' && ['COMPLETED', 'FAILED', 'CANCELLED'].includes(message.status);
}
