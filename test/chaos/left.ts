import type { Pool } from '#shared/db/pool.ts';

/** Rows that should not be there when every run has ended, in words. The sweep tidies up some of them, after seconds. */
export async function findLeft(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ what: string; n: number }>(LEFT);
  return rows.flatMap(({ what, n }) => (n > 0 ? [`${what}: ${n} instead of 0`] : []));
}

// A result that a re-run takes over has its log with the run that computed it. A cancel may come before a map is over.
const LEFT = `
select 'nodes with two outcomes' as what, count(*) as n from (
  select from run_event where status = 'SUCCESS' group by instance_id, node_id, frame having count(*) > 1) twice
union all select 'outcomes without their log, or logs without an outcome', count(*) from (
  select from run_event e full join run_log l using (instance_id, seq)
  where not coalesce(jsonb_exists(e.payload, 'reusedFrom'), false) and (
    (l.seq is null) <> (e.payload -> 'log' is null) or e.seq is null
    or e.node_id like 'compute%' and e.status = 'SUCCESS' and coalesce(jsonb_array_length(l.lines), 0) <> 1)) apart
union all select 'waits left', count(*) from run_wait
union all select 'questions left', count(*) from collection_request where status = 'PENDING'
union all select 'questions answered before all their reminders, or with one too many', count(*) from (
  select r.id, r.status, coalesce(jsonb_array_length(r.collection_config -> 'reminders'), 0) as planned,
    count(e.seq) as sent, count(distinct e.payload -> 'reminder' -> 'number') as numbers
  from collection_request r left join run_event e on e.instance_id = r.instance_id
    and e.payload -> 'reminder' ->> 'collectionRequestID' = r.id::text
  group by r.id) reminded
  where sent <> numbers or sent > planned or status = 'COMPLETED' and sent <> planned
union all select 'waits for events left open', count(*) from event_wait where is_open
union all select 'events not told', count(*) from workflow_event where not is_told
union all select 'notices left', count(*) from run_notice
union all select 'checkpoints left', count(*) from run_checkpoint
union all select 'chunks not counted', count(*) from map_chunk where due is not null
union all select 'maps not over', count(*) from run_map m join workflow_instance i on i.id = m.instance_id
  where m.outcome is distinct from 'done' and i.status <> 'CANCELLED'
union all select 'failures not handled', count(*) from run_failure where handled_at is null or error is not null
union all select 'events of listeners not processed', count(*) from listener_event where finished_at is null
union all select 'ticks that have not ended', count(*) from cron_tick where status = 'SCHEDULED'
union all select 'ends of ticks not taken', count(*) from cron_end
union all select 'runs held', count(*) from workflow_instance where held_by is not null
union all select 'runs ready', count(*) from workflow_instance where ready_at is not null`;
