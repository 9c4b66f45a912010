import type { Logger } from '#shared/logger.ts';

const writeAfterMs = 1_000;

/** Records last uses in the background: many in one statement, and no request waits for it. */
export function createNotes(write: (ids: readonly string[]) => Promise<void>, logger: Logger): (id: string) => void {
  const used = new Set<string>();

  function writeAll(): void {
    const ids = [...used];
    used.clear();
    write(ids).catch((error: unknown) => logger.debug({ err: error }, 'use not noted'));
  }

  return (id) => {
    if (used.size === 0) setTimeout(writeAll, writeAfterMs).unref();
    used.add(id);
  };
}
