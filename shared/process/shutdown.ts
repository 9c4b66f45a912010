import type { Logger } from '../core/logger.ts';

/**
 * Resolves at SIGTERM or SIGINT, or when the parent process ends. If disposal takes longer than `deadlineMs`, the process
 * exits with code 1, so that an orchestrator need not wait for its own timeout.
 */
export function stopSignal(deadlineMs: number, logger: Logger): Promise<void> {
  return new Promise((resolve) => {
    let stopping = false;
    function stop(reason: string): void {
      if (stopping) return;
      stopping = true;
      logger.info({ reason }, 'stopping');
      setTimeout(() => {
        logger.fatal(`not stopped within ${deadlineMs} ms`);
        process.exit(1);
      }, deadlineMs).unref();
      resolve();
    }
    process.on('SIGTERM', () => stop('SIGTERM'));
    process.on('SIGINT', () => stop('SIGINT'));
    process.on('disconnect', () => stop('parent is gone'));
    // This listener must not keep the process alive.
    process.channel?.unref();
  });
}

/** Closes what the process has opened, then ends the process: a connection that a library left open would keep it alive until the deadline. */
export async function closeAndExit(opened: AsyncDisposable): Promise<never> {
  await opened[Symbol.asyncDispose]();
  process.exit(0);
}
