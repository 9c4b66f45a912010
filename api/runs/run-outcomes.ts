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

const READ = `
select status, output, error from workflow_instance where id = $1 and tenant_id = $2 and completed_at is not null`;

const ENDED = `
select id from workflow_instance where id = any($1::uuid[]) and completed_at is not null`;
