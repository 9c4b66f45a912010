import type { Logger } from '../core/logger.ts';

export interface Step {
  name: string;
  everyMs: number;
  /** When it begins; default: at once. */
  firstAfterMs?: number;
  run(): Promise<unknown>;
}

export interface Kept extends AsyncDisposable {
  /** Runs the step now, and again if it is running. */
  now(): void;
}

/** Repeats a step by a timer of its own, which never runs twice at once. A step that fails is logged, and stops no other. */
export function keep({ name, everyMs, firstAfterMs = 0, run }: Step, logger: Logger): Kept {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let isStopped = false;
  let isWanted = false;

  function now(): void {
    isWanted = true;
    clearTimeout(timer);
    if (!isStopped) running ??= rounds();
  }

  async function rounds(): Promise<void> {
    while (isWanted && !isStopped) {
      isWanted = false;
      await run().catch((error: unknown) =>
        logger.warn({ err: error, step: name }, 'a step failed; it is tried again'),
      );
    }
    running = undefined;
    if (!isStopped) timer = setTimeout(now, everyMs * (0.8 + 0.4 * Math.random())).unref();
  }

  if (firstAfterMs > 0) timer = setTimeout(now, firstAfterMs).unref();
  else now();
  return {
    now,
    async [Symbol.asyncDispose]() {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
