import type { Logger } from '../core/logger.ts';

export interface PeriodicTaskOptions {
  name: string;
  everyMs: number;
  /** Time until the first run; default: none. */
  firstAfterMs?: number;
  run(): Promise<unknown>;
}

export interface PeriodicTask extends AsyncDisposable {
  /** Runs the task now, or once more if it is running. */
  trigger(): void;
}

/** Repeats a task by a timer of its own; it never runs twice at once. A task that fails is logged, and stops no other. */
export function startPeriodicTask(
  { name, everyMs, firstAfterMs = 0, run }: PeriodicTaskOptions,
  logger: Logger,
): PeriodicTask {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let isStopped = false;
  let isTriggered = false;

  function trigger(): void {
    isTriggered = true;
    clearTimeout(timer);
    if (!isStopped) running ??= runWhileTriggered();
  }

  async function runWhileTriggered(): Promise<void> {
    while (isTriggered && !isStopped) {
      isTriggered = false;
      await run().catch((error: unknown) =>
        logger.warn({ err: error, step: name }, 'a step failed; it is tried again'),
      );
    }
    running = undefined;
    if (!isStopped) timer = setTimeout(trigger, everyMs * (0.8 + 0.4 * Math.random())).unref();
  }

  if (firstAfterMs > 0) timer = setTimeout(trigger, firstAfterMs).unref();
  else trigger();
  return {
    trigger,
    async [Symbol.asyncDispose]() {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
