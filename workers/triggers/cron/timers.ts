import type { Pool } from '#shared/db/pool.ts';
import type { Backplane } from '#shared/messaging/backplane/index.ts';
import { cronTicks } from '#shared/messaging/queues/cron-ticks.ts';

/** Timers that one round sets at most. */
const MAX_SET = 2_000;
/** Timers that are set concurrently. */
const AT_ONCE = 20;

interface TimedJob {
  id: string;
  tenantID: string;
  schedule: string;
  timezone: string;
}

/**
 * Sets a timer in the queues for every enabled job, and removes those of disabled ones. The row of a job stores the mark of the queues in
 * which its timer is set. Queues that have lost their data get another mark, and all timers are set again. Ticks do not depend on timers:
 * without one they are found by a poll, up to a second later.
 */
export function createCronTimers({ pool, backplane }: { pool: Pool; backplane: Backplane }): {
  set(): Promise<number>;
} {
  async function setOne(mark: string, { id: cronJobID, tenantID, schedule, timezone }: TimedJob): Promise<void> {
    const when = { expression: schedule, timezone };
    await backplane.setTimer(cronTicks.name, cronJobID, {
      ...when,
      payload: cronTicks.payload.parse({ tenantID, cronJobID }),
    });
    // Has no effect if the schedule was changed meanwhile: the next round then sets the timer again.
    await pool.query(SET, [cronJobID, mark, schedule, timezone]);
  }

  async function removeOne(id: string): Promise<void> {
    await backplane.removeTimer(cronTicks.name, id);
    await pool.query(REMOVED, [id]);
  }

  async function inGroups<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
    for (let at = 0; at < items.length; at += AT_ONCE) await Promise.all(items.slice(at, at + AT_ONCE).map(work));
  }

  return {
    async set() {
      const remaining = await pool.query<{ id: string }>({
        name: 'cron_timers_left',
        text: FIND_LEFT,
        values: [MAX_SET],
      });
      await inGroups(remaining.rows, ({ id }) => removeOne(id));
      const mark = await backplane.sentinel();
      // The queues have lost their data, and the sweep has not marked them again.
      if (mark === null) return 0;
      const missing = await pool.query<TimedJob>({
        name: 'cron_timers_missing',
        text: FIND_MISSING,
        values: [mark, MAX_SET],
      });
      await inGroups(missing.rows, (job) => setOne(mark, job));
      return missing.rows.length;
    },
  };
}

const IS_ON = 'cron_job_enabled and stopped_at is null';

// Two ranges of the index: a comparison by <> would read all of it.
const missing = (comparison: string) => `
(select id, tenant_id as "tenantID", cron_job_schedule as schedule, timezone from cron_job
 where ${IS_ON} and coalesce(alarm_set_in, '') ${comparison} $1 order by coalesce(alarm_set_in, '') limit $2)`;

const FIND_MISSING = `${missing('<')} union all ${missing('>')} limit $2`;

const FIND_LEFT = `
select id from cron_job where alarm_set_in is not null and not (${IS_ON}) order by alarm_set_in limit $1`;

// CASE hides the condition from the planner, which then finds the row by its id. With the statistics of a new table it had chosen the
// index of all enabled jobs.
const SET = `
update cron_job set alarm_set_in = $2
where id = $1 and case when cron_job_schedule = $3 and timezone = $4 and ${IS_ON} then true else false end`;

const REMOVED = `update cron_job set alarm_set_in = null where id = $1 and case when ${IS_ON} then false else true end`;
