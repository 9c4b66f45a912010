import { quote } from '#shared/core/quote.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import { Moment } from '#shared/core/schema/moment.ts';
import type { delay } from '#shared/workflow/nodes/kinds/delay.ts';
import type { Executor, Task } from '../executor.ts';

const MAX_DELAY_MS = 24 * 3600 * 1000;

export const runDelay: Executor<typeof delay> = async ({ config, waitResult }) => {
  const ms = waitResult ? 0 : Math.round(delayOf(config));
  if (ms > 0) return { park: 'time', ms };
  return {
    output: {
      delayedMs: waitResult?.kind === 'time' ? Math.round(waitResult.ms) : 0,
      delayType: config.delayType,
      success: true,
    },
    exit: 'output',
  };
};

/** Milliseconds from now. A moment in the past is no delay; more than a day, or a negative number, is an error. */
function delayOf(config: Task<typeof delay>['config']): number {
  if (config.delayType === 'dynamic') return dynamic(config.delayVariable);
  if (config.delayType === 'until') return until(config.untilTime);
  return config.delayMinutes * 60_000 + config.delaySeconds * 1000 + config.delayMs;
}

function dynamic(value: string | number = ''): number {
  const ms = value === '' ? Number.NaN : Number(value);
  const expected = (what: string) => invalidField('delayVariable', `expected ${what}, received ${quote(value)}`);
  if (!Number.isFinite(ms)) throw expected('milliseconds');
  if (ms < 0) throw expected('milliseconds from 0 on');
  if (ms > MAX_DELAY_MS) throw expected(`at most 24 hours (${MAX_DELAY_MS})`);
  return ms;
}

function until(value = ''): number {
  const moment = Moment.safeParse(value).data;
  const expected = (what: string) => invalidField('untilTime', `expected a moment ${what}, received ${quote(value)}`);
  if (!moment) throw expected('such as 2030-01-31T12:00:00Z');
  const ms = moment.getTime() - Date.now();
  if (ms > MAX_DELAY_MS) throw expected('within 24 hours');
  return Math.max(0, ms);
}
