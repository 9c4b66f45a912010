import type { JsonObject } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Progress } from '../import/progress.ts';

/** A job that this process has claimed. */
export interface ClaimedJob {
  id: string;
  tenantID: string;
  creatorID: string;
  apiKeyID: string | null;
  isPlanned: boolean;
  /** The import that the job rolls back; null if the job is an import itself. */
  importID: string | null;
  total: number | null;
  /** Sealed. */
  request: string;
  attempts: number;
}

/** How long a claim is valid without renewal. Then another process starts the job again. */
const LEASE_SECONDS = 15;
/** A job whose processes died this often may be the cause: it is given up. */
const MAX_ATTEMPTS = 5;

/**
 * Claims the oldest job of the creator whose last job began longest ago, among creators with no job under way; null if
 * there is none.
 */
export async function claimJob(pool: Pool): Promise<ClaimedJob | null> {
  const { rows } = await pool.query<ClaimedJob>({ name: 'import_job_claim', text: CLAIM, values: [LEASE_SECONDS] });
  return rows[0] ?? null;
}

/** Renews a claim and notes the progress. False if the claim is lost. */
export async function renewJob(pool: Pool, { id, attempts }: ClaimedJob, progress: Progress | undefined) {
  const values = [id, attempts, LEASE_SECONDS, progress?.done ?? 0, progress?.total ?? null];
  const { rowCount } = await pool.query({ name: 'import_job_renew', text: RENEW, values });
  return rowCount === 1;
}

export interface JobResponse {
  status: number;
  body: JsonObject;
}

/** Ends a job. False if the claim was lost before. */
export async function endJob(
  pool: Pool,
  { id, attempts }: ClaimedJob,
  { status, body }: JobResponse,
): Promise<boolean> {
  const { rowCount } = await pool.query(END, [id, attempts, status, JSON.stringify(body)]);
  return rowCount === 1;
}

/** Lets a job wait again, because something that it needs is not available. */
export async function postponeJob(pool: Pool, { id, attempts }: ClaimedJob, seconds: number): Promise<void> {
  await pool.query(POSTPONE, [id, attempts, seconds]);
}

/** Ends jobs that have been started too often. */
export async function giveUpJobs(pool: Pool): Promise<void> {
  await pool.query(GIVE_UP, [MAX_ATTEMPTS, JSON.stringify(GIVEN_UP)]);
}

const GIVEN_UP = {
  success: false,
  error: {
    code: 'INTERNAL_ERROR',
    message: `The import was begun ${MAX_ATTEMPTS} times, and no process has said how it ended: the list of imports shows whether it was committed`,
  },
};

const CLAIM = `
with open as (
  select j.id, t.creator_id, j.created_at, j.lease_until from import_job j join tenant t on t.id = j.tenant_id
  where j.ended_at is null and t.deleting_at is null
),
first as (
  select distinct on (o.creator_id) o.id, o.creator_id from open o
  where not exists (select from open r where r.creator_id = o.creator_id and r.lease_until > now())
  order by o.creator_id, o.created_at, o.id
),
next as (
  select j.id from import_job j join first f on f.id = j.id
  where j.ended_at is null and (j.lease_until is null or j.lease_until <= now())
  order by (select max(d.started_at) from tenant o join import_job d on d.tenant_id = o.id where o.creator_id = f.creator_id) nulls first,
    j.created_at
  limit 1 for update of j skip locked
)
update import_job j set attempts = attempts + 1, lease_until = now() + make_interval(secs => $1), done = 0,
  started_at = coalesce(started_at, now()), updated_at = now()
from next where j.id = next.id
returning j.id, j.tenant_id as "tenantID", j.creator_id as "creatorID", j.created_by_api_key_id as "apiKeyID", j.is_planned as "isPlanned",
  j.import_id as "importID", j.total, j.request, j.attempts`;

const RENEW = `
update import_job set lease_until = now() + make_interval(secs => $3), done = $4, total = coalesce($5, total), updated_at = now()
where id = $1 and attempts = $2 and ended_at is null`;

const END = `
update import_job set ended_at = now(), lease_until = null, request = null, status = $3, answer = $4,
  done = case when $3 < 300 then coalesce(total, done) else done end, updated_at = now()
where id = $1 and attempts = $2 and ended_at is null`;

// The attempt does not count.
const POSTPONE = `
update import_job set lease_until = now() + make_interval(secs => $3), attempts = attempts - 1, updated_at = now()
where id = $1 and attempts = $2 and ended_at is null`;

const GIVE_UP = `
update import_job set ended_at = now(), lease_until = null, request = null, status = 500, answer = $2, updated_at = now()
where ended_at is null and attempts >= $1 and lease_until <= now()`;
