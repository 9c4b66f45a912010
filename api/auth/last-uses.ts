import type { Logger } from '#shared/core/logger.ts';

const writeAfterMs = 1_000;

/** Records last uses in the background: many in one statement, and no request waits for it. Disposing writes those not yet written. */
export interface Notes extends AsyncDisposable {
  add(id: string): void;
}

export function createNotes(write: (ids: readonly string[]) => Promise<void>, logger: Logger): Notes {
  const used = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();

  function writeAll(): void {
    const ids = [...used];
    used.clear();
    timer = undefined;
    writing = write(ids).catch((error: unknown) => logger.debug({ err: error }, 'use not noted'));
  }

  return {
    add(id) {
      timer ??= setTimeout(writeAll, writeAfterMs).unref();
      used.add(id);
    },
    async [Symbol.asyncDispose]() {
      await writing;
      if (!timer) return;
      clearTimeout(timer);
      writeAll();
      await writing;
    },
  };
}
