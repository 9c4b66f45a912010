import { AsyncLocalStorage } from 'node:async_hooks';

/** How many items of an import are saved, of how many that are to be. */
export interface Progress {
  done: number;
  total: number;
}

const current = new AsyncLocalStorage<(progress: Progress) => void>();

/** Runs an import and reports its progress to `onProgress`. */
export function watchingImport<T>(onProgress: (progress: Progress) => void, work: () => T): T {
  return current.run(onProgress, work);
}

/** Reports the progress of an import, if it runs in a job. */
export function noteProgress(progress: Progress): void {
  current.getStore()?.(progress);
}
