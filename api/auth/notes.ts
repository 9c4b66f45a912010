import type { Logger } from '#shared/logger.ts';

const writeAfterMs = 1_000;

/** Writes down that something was used, behind the requests' backs: many in one statement, and nobody waits for it. */
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
