import type { JsonObject } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';

/** State of an owner in the database when its lease was renewed. */
export interface OwnerState {
  /** Whether another worker has ended the lease, so that the listeners may have other owners. */
  isLost: boolean;
  owned: OwnedListener[];
}

export interface OwnedListener {
  listenerID: string;
  tenantID: string;
  /** Changes with every change of the tenant's listeners: a listener that was read at an older version is read again. */
  version: number;
}

/** How many listeners each live owner has, and how many are to be owned in all. */
export interface Load {
  wanted: number;
  owners: { id: string; owned: number }[];
  /** Whether remote resources of listeners are to be cleaned up now. */
  hasRemoteResources: boolean;
}

export type LeaseState = 'connecting' | 'running' | 'reconnecting' | 'error';

/** State of a listener, as its owner reports it. */
export interface Report {
  listenerID: string;
  state: LeaseState;
  retryCount: number;
  /** Null if no error is known. */
  lastError: string | null;
  cursor: JsonObject | null;
}

/** The leases of listeners: one row for each owner, and one for each listener that wants a connection. */
export interface Leases {
  begin(ownerID: string): Promise<void>;
  renew(ownerID: string): Promise<OwnerState>;
  /** Ends leases that were not renewed; their listeners are free. */
  endExpired(): Promise<void>;
  load(): Promise<Load>;
  /** Takes free listeners, of tenants in turn. */
  claim(ownerID: string, count: number): Promise<Claimed[]>;
  release(ownerID: string, listenerIDs: readonly string[]): Promise<void>;
  /** Writes what has changed, in one transaction. */
  report(ownerID: string, reports: readonly Report[]): Promise<void>;
  /** Reports that the connection of a listener has ended. If it is deleted or inactive, its remote resource may be cleaned up now. */
  allowCleanup(listenerID: string): Promise<void>;
  end(ownerID: string): Promise<void>;
}

export interface Claimed {
  listenerID: string;
  tenantID: string;
  cursor: JsonObject | null;
}

interface LeaseOptions {
  pool: Pool;
  /** A pool that no other work can occupy: when a renewal is late, other workers take the listeners. */
  leasePool: Pool;
  leaseMs: number;
  /** Types that this worker can own. */
  types: readonly string[];
}

export function createLeases({ pool, leasePool, leaseMs, types }: LeaseOptions): Leases {
  const seconds = leaseMs / 1000;
  return {
    async begin(ownerID) {
      await leasePool.query(BEGIN, [ownerID, seconds]);
    },
    async renew(ownerID) {
      const { rows } = await leasePool.query<{ renewed: boolean; owned: OwnedListener[] }>({
        name: 'listener_renew',
        text: RENEW,
        values: [ownerID, seconds],
      });
      return { isLost: rows[0]?.renewed !== true, owned: rows[0]?.owned ?? [] };
    },
    async endExpired() {
      await leasePool.query({ name: 'listener_end_expired', text: END_EXPIRED, values: [seconds] });
    },
    async load() {
      const { rows } = await pool.query<Load>({ name: 'listener_load', text: LOAD, values: [types] });
      return rows[0] ?? { wanted: 0, owners: [], hasRemoteResources: false };
    },
    async claim(ownerID, count) {
      const { rows } = await pool.query<Claimed>({
        name: 'listener_claim',
        text: CLAIM,
        values: [ownerID, types, count],
      });
      return rows;
    },
    async release(ownerID, listenerIDs) {
      await pool.query({ name: 'listener_release', text: RELEASE, values: [ownerID, listenerIDs] });
    },
    async report(ownerID, reports) {
      if (reports.length === 0) return;
      const values = [ownerID, JSON.stringify(reports), reports.map(({ listenerID }) => listenerID)];
      const client = await pool.connect();
      let broken: Error | undefined;
      try {
        await client.query('begin');
        // Locks in the order of a user's change, which locks the listener and then, by its trigger, the lease. So they cannot deadlock.
        await client.query({ name: 'listener_report_lock', text: LOCK_REPORTED, values });
        await client.query({ name: 'listener_report_lease', text: REPORT_LEASES, values });
        await client.query({ name: 'listener_report_status', text: REPORT_STATUS, values });
        await client.query('commit');
      } catch (error) {
        await client.query('rollback').catch((failure: Error) => {
          broken = failure;
        });
        throw error;
      } finally {
        client.release(broken);
      }
    },
    async allowCleanup(listenerID) {
      await pool.query({ name: 'listener_left', text: ALLOW_CLEANUP, values: [listenerID] });
    },
    async end(ownerID) {
      await leasePool.query('delete from listener_owner where id = $1', [ownerID]);
    },
  };
}

const BEGIN = 'insert into listener_owner (id, expires_at) values ($1, now() + make_interval(secs => $2))';

/** One statement, because a lease that ends between two would look like that of an owner without listeners. */
const RENEW = `
with renewed as (
  update listener_owner set expires_at = now() + make_interval(secs => $2) where id = $1 returning id
)
select exists (select from renewed) as renewed, coalesce((
  select json_agg(json_build_object('listenerID', l.listener_id, 'tenantID', l.tenant_id, 'version', t.listeners_version))
  from listener_lease l join tenant t on t.id = l.tenant_id and t.deleting_at is null
  where l.held_by = $1), '[]') as owned`;

/**
 * The same rule as for leases of the engine: no lease ends before the sweep has ticked without a gap for the length of a lease. So after
 * an outage of Postgres, or when a machine was suspended, owners have the time to renew, and no listener moves.
 */
const END_EXPIRED = `
delete from listener_owner where expires_at < now() and exists (
  select from sweep where last_tick between now() - interval '3 seconds' and now() + interval '1 second'
  and streak_started_at < now() - make_interval(secs => $1))
and pg_postmaster_start_time() < now() - make_interval(secs => $1)`;

const LOAD = `
select (select count(*)::int from listener_lease where listener_type = any($1::text[])) as wanted,
  coalesce((
    select json_agg(json_build_object('id', o.id, 'owned', (
      select count(*) from listener_lease l where l.held_by = o.id)))
    from listener_owner o where o.expires_at > now()), '[]') as owners,
  exists (select from listener_residue where ready_at <= now()) as "hasRemoteResources"`;

const ALLOW_CLEANUP = 'update listener_residue set ready_at = now() where listener_id = $1 and claimed_until is null';

/** Claims no listener whose remote resource is being removed: its connection would create the resource again. */
const CLAIM = `
with free as (
  select listener_id, row_number() over (partition by tenant_id order by listener_id) as nth
  from listener_lease l where held_by is null and listener_type = any($2::text[]) and not exists (
    select from listener_residue r where r.listener_id = l.listener_id and r.claimed_until > now())
),
picked as (
  select l.listener_id from listener_lease l
  where l.listener_id in (select listener_id from free order by nth, listener_id limit $3) and l.held_by is null
  for no key update skip locked
)
update listener_lease l set held_by = $1, state = 'connecting', retry_count = 0 from picked where l.listener_id = picked.listener_id
returning l.listener_id as "listenerID", l.tenant_id as "tenantID", l.cursor`;

const RELEASE = 'update listener_lease set held_by = null where held_by = $1 and listener_id = any($2::uuid[])';

const REPORTED = `json_to_recordset($2::json) as r("listenerID" uuid, state text, "retryCount" int, "lastError" text, cursor jsonb)`;

const LOCK_REPORTED = `
select l.id from listener l join ${REPORTED} on l.id = r."listenerID"
where $1::uuid is not null and l.id = any($3::uuid[]) order by l.id for no key update of l`;

// The ids in `$3` make Postgres find the rows one by one: by the index of owners it would read all listeners of the owner.
const REPORT_LEASES = `
update listener_lease l set state = r.state, retry_count = r."retryCount", cursor = coalesce(r.cursor, l.cursor)
from ${REPORTED} where l.listener_id = r."listenerID" and l.listener_id = any($3::uuid[]) and l.held_by = $1`;

/** Reports only listeners that are still owned. One that a user has made inactive has no lease any more. */
const REPORT_STATUS = `
update listener l set last_error = r."lastError", status = case when r.state = 'error' then 'error' else 'active' end
from ${REPORTED}, listener_lease o
where l.id = r."listenerID" and o.listener_id = l.id and l.id = any($3::uuid[])
and o.listener_id = any($3::uuid[]) and o.held_by = $1 and l.status <> 'inactive'
and (l.last_error is distinct from r."lastError" or l.status <> case when r.state = 'error' then 'error' else 'active' end)`;

/** The statements of a report. */
export const REPORTING = [LOCK_REPORTED, REPORT_LEASES, REPORT_STATUS] as const;
