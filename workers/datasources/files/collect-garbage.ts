import { startPeriodicTask } from '#shared/concurrency/periodic-task.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { StoredFiles } from '#shared/datasources/files/files.ts';

/** Deletes the bytes of deleted files and of aborted uploads. Every worker runs this; each takes other files. */
export function createGarbageCollector(files: StoredFiles, logger: Logger): AsyncDisposable {
  const collection = startPeriodicTask(
    {
      name: 'collect garbage of files',
      everyMs: 60_000,
      firstAfterMs: 10_000,
      async run() {
        if ((await files.collectGarbage()) > 0) collection.trigger();
      },
    },
    logger,
  );
  return collection;
}
