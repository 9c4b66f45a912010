import type { Pool } from '#shared/db/pool.ts';
import type { RunOutcome } from '#shared/runs/completion-notices.ts';

/** How a run of the tenant has ended; undefined while it goes on, or if there is no such run. */
export async function readOutcome(
  pool: Pool,
  { tenantID, instanceID }: { tenantID: string; instanceID: string },
): Promise<RunOutcome | undefined> {
  const { rows } = await pool.query<RunOutcome>({ name: 'run_outcome', text: READ, values: [instanceID, tenantID] });
  return rows[0];
}

/** The ids of the runs that have ended. Their outcomes may be large, so they are not read together. */
export async function findEnded(pool: Pool, ids: readonly string[]): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>({ name: 'ended_runs', text: ENDED, values: [ids] });
  return rows.map(({ id }) => id);
}

/**
 * The ids of the runs that stay parked until a person or another system acts, each for `ms` from now: neither the run nor one that it has
 * started goes on, nor will a time that one of them waits for be reached by then.
 */
export async function findParked(pool: Pool, runs: readonly { id: string; ms: number }[]): Promise<string[]> {
  const values = [runs.map(({ id }) => id), runs.map(({ ms }) => ms)];
  const { rows } = await pool.query<{ id: string }>({ name: 'parked_runs', text: PARKED, values });
  return rows.map(({ id }) => id);
}

const READ = `
select status, output, error from workflow_instance where id = $1 and tenant_id = $2 and completed_at is not null`;

const ENDED = `
select id from workflow_instance where id = any($1::uuid[]) and completed_at is not null`;

const PARKED = `
with recursive member as (
  select root.id as root, root.id, now() + make_interval(secs => root.ms / 1000) as until
  from unnest($1::uuid[], $2::float8[]) as root(id, ms)
  union all
  select m.root, w.ref, m.until from member m join run_wait w on w.instance_id = m.id and w.kind = 'child' and w.ref is not null
)
select m.root as id from member m join workflow_instance i on i.id = m.id
group by m.root
having not bool_or(i.completed_at is not null or i.held_by is not null or i.ready_at is not null
  or not exists (select from run_wait w where w.instance_id = i.id)
  or exists (select from run_wait w where w.instance_id = i.id and (w.due_at <= m.until or w.kind not in ('time', 'input', 'event', 'child'))))`;
