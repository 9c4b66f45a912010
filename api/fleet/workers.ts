import type { Pool } from '#shared/db/pool.ts';

const MAX_WORKERS = 500;

/** A worker that lives, or has ended within the hour. */
export interface WorkerRow {
  workerID: string;
  version: string;
  /**
   * `lost`: its lease ran out before the worker ended it. `overdue`: the lease has run out, and the sweep has not
   * noticed yet.
   */
  state: 'live' | 'overdue' | 'stopped' | 'lost';
  startedAt: Date;
  endedAt: Date | null;
  slots: number;
  /** Runs that it has. */
  runs: number;
}

export async function readWorkers(pool: Pool): Promise<WorkerRow[]> {
  return (await pool.query<WorkerRow>(WORKERS)).rows;
}

// The sweep ends an expired lease, so a lost worker has an end after its expiry.
const WORKERS = `
select id as "workerID", version, started_at as "startedAt", ended_at as "endedAt", slots,
  case when ended_at is null then case when expires_at > now() then 'live' else 'overdue' end
    when ended_at > expires_at then 'lost' else 'stopped' end as state,
  (select count(*)::int from workflow_instance where held_by = s.id) as runs
from (
  (select * from worker_session where ended_at is null order by expires_at desc limit ${MAX_WORKERS})
  union all
  (select * from worker_session where ended_at > now() - interval '1 hour' order by ended_at desc limit ${MAX_WORKERS / 10})
) s order by ended_at desc nulls first, started_at, id`;
