import { startPeriodicTask } from '#shared/concurrency/periodic-task.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import { TRIM_BUFFER } from '#shared/triggers/listeners/event-rows.ts';
import type { BufferedEvent } from './action.ts';

/** Bytes of the events in one buffer. */
const MAX_BYTES = 64 * 1024 ** 2;

export interface BufferTrim extends AsyncDisposable {
  /** Notes that events were saved. Events beyond the limits of their buffers are deleted soon after. */
  note(saved: readonly BufferedEvent[]): void;
}

/**
 * Trims buffers about a second after events were saved, each buffer once for all of them. If the process dies before it does, the buffer
 * is trimmed after the next event.
 */
export function createBufferTrim(pool: Pool, logger: Logger): BufferTrim {
  let grown = new Map<string, BufferedEvent>();
  const trimming = startPeriodicTask(
    {
      name: 'trim buffers of listeners',
      everyMs: 1_000,
      async run() {
        const buffers = [...grown.values()];
        grown = new Map();
        for (const { listenerID, bufferName, maxEvents } of buffers)
          await pool.query({
            name: 'trim_buffer',
            text: TRIM_BUFFER,
            values: [listenerID, bufferName, maxEvents, MAX_BYTES],
          });
      },
    },
    logger,
  );
  return {
    note(saved) {
      for (const event of saved) grown.set(`${event.listenerID} ${event.bufferName}`, event);
    },
    [Symbol.asyncDispose]: () => trimming[Symbol.asyncDispose](),
  };
}
