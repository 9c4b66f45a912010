import type { Logger } from './logger.ts';

/**
 * Resolves at SIGTERM or SIGINT (or when the parent goes away). Disposal then has `deadlineMs`; a process that is still
 * there after it is ended with exit code 1, so that an orchestrator need not wait for its own patience.
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
    // Listening for the end of the channel must not be what keeps the process from ending.
    process.channel?.unref();
  });
}
