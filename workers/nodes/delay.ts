import { AppError } from '#shared/errors.ts';
import type { delay } from '#shared/nodes/delay.ts';
import type { Executor, Task } from './executor.ts';

const MAX_DELAY_MS = 24 * 3600 * 1000;

export const runDelay: Executor<typeof delay> = async ({ config, fact }) => {
  const ms = fact ? 0 : delayOf(config);
  if (ms > 0) return { park: 'time', ms };
  return {
    output: { delayedMs: fact?.kind === 'time' ? Math.round(fact.ms) : 0, delayType: config.delayType, success: true },
    exit: 'output',
  };
};

/** Milliseconds from now. A moment in the past is no delay; more than a day, or less than nothing, is an error. */
function delayOf(config: Task<typeof delay>['config']): number {
  const ms = requested(config);
  if (!Number.isFinite(ms)) throw invalidDelay('is neither a number of milliseconds nor a moment');
  if (ms > MAX_DELAY_MS) throw invalidDelay('is longer than 24 hours');
  if (ms < 0) throw invalidDelay('is negative');
  return Math.round(ms);
}

function requested(config: Task<typeof delay>['config']): number {
  if (config.delayType === 'fixed') return config.delayMinutes * 60_000 + config.delaySeconds * 1000 + config.delayMs;
  if (config.delayType === 'dynamic') return config.delayVariable === '' ? Number.NaN : Number(config.delayVariable);
  const moment = Date.parse(config.untilTime ?? '');
  return Number.isNaN(moment) ? moment : Math.max(0, moment - Date.now());
}

function invalidDelay(why: string): AppError {
  return new AppError('VALIDATION_ERROR', `The delay ${why}`);
}
