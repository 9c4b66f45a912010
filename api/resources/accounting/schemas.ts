import { z } from 'zod';
import { Moment } from '#shared/core/schema/moment.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { exampleAccounting } from './examples.ts';

export const TenantID = z.object({ tenantID: idOf('tenant') });

const HOUR_MS = 3_600_000;
const MAX_HOURS = 168;

/** Whole hours: the answer begins with the hour of `from` and ends with that of `to`. */
export const Period = z
  .object({
    from: Moment.optional().describe('Default: 24 hours before `to`'),
    to: Moment.optional().describe('Default: now'),
  })
  .transform(({ from, to = new Date() }, check) => {
    const until = Math.ceil(to.getTime() / HOUR_MS) * HOUR_MS;
    const since = Math.floor((from?.getTime() ?? to.getTime() - 24 * HOUR_MS) / HOUR_MS) * HOUR_MS;
    if (since >= until || until - since > MAX_HOURS * HOUR_MS) {
      check.addIssue({
        code: 'custom',
        path: ['from'],
        message: `must be before \`to\`, and at most ${MAX_HOURS} hours`,
      });
      return z.NEVER;
    }
    return { from: new Date(since), to: new Date(until) };
  });

const counts = {
  accepted: z.int(),
  completed: z.int(),
  failed: z.int(),
  cancelled: z.int(),
  inFlight: z.int().describe('Held by a worker, in the queue, or waiting for something that will continue them'),
  difference: z.int().describe('Accepted, less all others. Not 0: runs that nothing will continue'),
};

const eventCounts = {
  received: z.int(),
  done: z.int(),
  filtered: z.int().describe('Ended by an action'),
  duplicate: z.int().describe('Received before with the same id'),
  dead: z.int().describe('Dead letters'),
  replaced: z.int().describe('Dead letters in whose place a corrected copy was recorded'),
  pending: z.int(),
  difference: z.int().describe('Received, less all others. Not 0: events in an unknown state'),
};

const Events = z
  .object({
    completeSince: z.iso.datetime().describe('Finished events that came before may be deleted. Purged ones are too'),
    total: z.object(eventCounts).meta({ id: 'EventAccountingTotal' }),
    hours: z.array(z.object({ hour: z.iso.datetime(), ...eventCounts }).meta({ id: 'EventAccountingHour' })),
  })
  .meta({ id: 'EventAccounting', description: 'What became of the events that listeners received' });

export const Accounting = z
  .object({
    from: z.iso.datetime(),
    to: z.iso.datetime(),
    completeSince: z.iso.datetime().describe('Runs that ended before may be deleted, and are counted nowhere then'),
    total: z.object(counts).meta({ id: 'AccountingTotal' }),
    hours: z.array(
      z
        .object({
          hour: z.iso.datetime().describe('In which the runs were accepted'),
          origin: z.enum(['workflow', 'appPage', 'listener', 'cron', 'direct', 'test']),
          ...counts,
        })
        .meta({ id: 'AccountingHour' }),
    ),
    events: Events,
  })
  .meta({
    id: 'Accounting',
    description: 'What became of the runs that were accepted, and of events',
    examples: [exampleAccounting],
  });
