import type { Pool, PoolClient } from '../../db/pool.ts';

type Queryable = Pick<Pool | PoolClient, 'query'>;

/** A tenant's weight and limits in the dispatch of runs. */
export interface TenantDispatch {
  weight: number;
  /** The lower of `grantedRuns` and `ownRuns`; null: no limit. */
  maxRuns: number | null;
  grantedRuns: number | null;
  ownRuns: number | null;
}

/** Undefined if there is no such tenant. */
export async function readDispatch(on: Queryable, tenantID: string): Promise<TenantDispatch | undefined> {
  const { rows } = await on.query<TenantDispatch>(READ, [tenantID]);
  return rows[0];
}

const READ = `
select coalesce(d.weight, 1) as weight, d.max_runs as "maxRuns", d.granted_runs as "grantedRuns", d.own_runs as "ownRuns"
from tenant t left join tenant_dispatch d on d.tenant_id = t.id where t.id = $1`;

export type DispatchChanges = Partial<Omit<TenantDispatch, 'maxRuns'>>;

/** Sets the fields that `changes` has. The next dispatch uses them. Does nothing for a tenant that does not exist. */
export async function setDispatch(on: Queryable, tenantID: string, changes: DispatchChanges): Promise<void> {
  const { weight, grantedRuns, ownRuns } = changes;
  await on.query(SET, [
    tenantID,
    weight ?? null,
    grantedRuns ?? null,
    ownRuns ?? null,
    grantedRuns !== undefined,
    ownRuns !== undefined,
  ]);
}

// `max_runs` is the lower of the two limits; a null is no limit, and `least` ignores nulls.
const SET = `
insert into tenant_dispatch as d (tenant_id, weight, granted_runs, own_runs, max_runs)
select id, coalesce($2::float8, 1), $3::int, $4::int, least($3::int, $4::int)
from tenant where id = $1 and deleting_at is null for key share
on conflict (tenant_id) do update
set weight = coalesce($2::float8, d.weight),
  granted_runs = case when $5::bool then $3::int else d.granted_runs end,
  own_runs = case when $6::bool then $4::int else d.own_runs end,
  max_runs = least(case when $5::bool then $3::int else d.granted_runs end, case when $6::bool then $4::int else d.own_runs end)`;
