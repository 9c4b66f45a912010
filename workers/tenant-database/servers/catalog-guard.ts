import type { TenantServer } from './servers.ts';

/**
 * Limits of the catalogues that all databases of a server share, and of their growth between two checks. Comments and settings of
 * thousands of tenants are smaller.
 */
const LIMITS = { maxBytes: 64 * 1024 * 1024, maxGrowth: 1024 * 1024 };

/**
 * Ends connections of tenants that make the shared catalogues of a server grow: they belong to no database, so no quota counts them, and
 * one transaction can write comments or settings until the disk is full. A writer holds a lock on the catalogue until its transaction
 * ends. Returns the number of connections.
 */
export interface CatalogGuard {
  check(): Promise<number>;
}

export function createCatalogGuard({ admin }: Pick<TenantServer, 'admin'>, limits = LIMITS): CatalogGuard {
  let before = Number.POSITIVE_INFINITY;

  return {
    async check() {
      const { rows } = await admin.query<{ bytes: number }>(SIZE);
      const bytes = rows[0]?.bytes ?? 0;
      const isGrowing = bytes > limits.maxBytes && bytes - before > limits.maxGrowth;
      before = bytes;
      if (!isGrowing) return 0;
      const { rowCount } = await admin.query(END_WRITERS);
      return rowCount ?? 0;
    },
  };
}

// Without pg_shdepend: objects and grants, whose rows are there, take more space in the tenant's own database, which its quota limits.
const CATALOGS = `array['pg_shdescription', 'pg_db_role_setting', 'pg_authid', 'pg_auth_members', 'pg_database']::regclass[]`;

const SIZE = `select sum(pg_total_relation_size(catalog))::bigint as bytes from unnest(${CATALOGS}) as catalog`;

// The pattern matches the names that Gantry gives to roles of tenants.
const END_WRITERS = `
select pg_terminate_backend(pid) from (
  select distinct pid from pg_lock_status()
  where locktype = 'relation' and database = 0 and relation = any (${CATALOGS}) and mode = 'RowExclusiveLock' and granted
) as writers join pg_stat_get_activity(null) using (pid)
where pg_get_userbyid(usesysid) ~ '^tenant_[0-9a-f]{24}(_full)?$'`;
