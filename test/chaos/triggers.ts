import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from '#shared/db/pool.ts';
import type { ChaosClient } from './client.ts';

const EVERY_MS = 250;
/** Ticks that a backfill adds, which run one after the other. */
const BACKFILLED = 10;
const MINUTE_MS = 60_000;

/** Delivers webhooks while faults go on, and has a cron job with its ticks of each minute and of a backfill. Answers the number of deliveries. */
export async function startFromOutside(client: ChaosClient, seconds: number): Promise<number> {
  const end = performance.now() + seconds * 1_000;
  const to = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - 5 * MINUTE_MS;
  const sent: Promise<void>[] = [client.backfill(new Date(to - (BACKFILLED - 1) * MINUTE_MS), new Date(to))];
  let deliveries = 0;
  while (performance.now() < end) {
    deliveries += 1;
    sent.push(client.deliver(deliveries));
    await sleep(EVERY_MS);
  }
  await Promise.all(sent);
  await client.pauseCron();
  return deliveries;
}

/** Compares deliveries and ticks with their runs. Answers the differences, in words. */
export async function judgeFromOutside(
  pool: Pool,
  { triggered, deliveries }: { triggered: ChaosClient['triggered']; deliveries: number },
): Promise<string[]> {
  const { rows } = await pool.query<{ what: string; found: number; right: number }>(DIFFERENCES, [
    deliveries,
    triggered.delivered,
    triggered.ticked,
    BACKFILLED,
  ]);
  const { rows: others } = await pool.query<{ tick: string }>(OTHER_TICKS);
  return [
    ...rows.flatMap(({ what, found, right }) => (found === right ? [] : [`${what}: ${found} instead of ${right}`])),
    ...others.map(({ tick }) => tick),
  ];
}

// Said by name, since their rows are gone when the result is read.
const OTHER_TICKS = `
select concat_ws(' ', 'the tick of', scheduled_at, 'is', outcome, status, 'after', attempts, 'attempts:', reason, error) as tick
from cron_tick where outcome <> 'skipped' and status <> 'SUCCESS' order by scheduled_at`;

// A pause of the job, at the end, skips the ticks that follow.
const DIFFERENCES = `
with tick as (
  select t.*, (select count(*) from workflow_instance i where i.cron_tick_id = t.id and i.status = 'COMPLETED') as runs
  from cron_tick t where t.outcome <> 'skipped'
)
select 'deliveries that are no duplicates' as what, count(*)::int as found, $1::int as right from listener_event where state <> 'duplicate'
union all select 'deliveries with a run that has ended', count(*)::int, $1::int
  from listener_event e join workflow_instance i on i.id = e.instance_id and i.status = 'COMPLETED' where e.state = 'done'
union all select 'runs of deliveries', count(*)::int, $1::int from workflow_instance where workflow_id = $2
union all select 'runs of ticks', count(*)::int, (select count(*)::int from tick) from workflow_instance where workflow_id = $3
union all select 'ticks with one run, which has ended', count(*) filter (where runs = 1 and status = 'SUCCESS')::int, count(*)::int from tick
union all select 'ticks of the backfill', count(*)::int, $4::int from tick where trigger_type = 'BACKFILL'
union all select 'minutes with a tick', count(*)::int,
    coalesce((extract(epoch from max(scheduled_at) - min(scheduled_at)) / 60)::int + 1, 0)
  from tick where trigger_type = 'SCHEDULED'`;
