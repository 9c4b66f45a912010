import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { TenantServers } from '../servers/servers.ts';
import { rollBackPrepared } from './prepared.ts';

interface Sweep {
  pool: Pool;
  servers: TenantServers;
  logger: Logger;
  /** Age of a connection that no worker reports, before it is ended. A new one is reported within ten seconds. */
  graceSeconds?: number;
  maxStatementSeconds?: number;
  /** Whether the reports of other workers can be expected to be complete. */
  isSteady?: boolean;
  /** How long autovacuum may analyze a table. */
  analyzeSeconds?: number;
}

/** Longer than any request may take: a statement gets 3,660 s at most. */
const MAX_STATEMENT_SECONDS = 3_700;

/** Longest analysis of a table by autovacuum, which takes seconds if no function of a tenant delays it. */
const MAX_ANALYZE_SECONDS = 60;

/**
 * Ends connections of tenants' roles that belong to no worker, or whose statement or transaction is too old, and rolls back old prepared
 * transactions. Ends workers of autovacuum that analyze a table of a tenant for too long: they call functions of the tenant in its
 * indexes without a time limit, and a server has few such workers. Returns the number of ended processes and transactions.
 */
export async function endOrphans({
  pool,
  servers,
  logger,
  graceSeconds = 30,
  maxStatementSeconds = MAX_STATEMENT_SECONDS,
  isSteady = servers.connections.isSteady,
  analyzeSeconds = MAX_ANALYZE_SECONDS,
}: Sweep): Promise<number> {
  const { rows } = await pool.query<Owned>(OWNED);
  let ended = 0;
  for (const { server: name, databases, roles, owned, isComplete } of rows) {
    try {
      const server = servers.find(name);
      if (!server) continue;
      const limits = [roles, owned, isComplete && isSteady, graceSeconds, maxStatementSeconds];
      const { rowCount: lost } = await server.admin.query(END, limits);
      if (lost) logger.warn({ server: name, connections: lost }, 'ended connections that no request owns');
      const { rowCount: analyzing } = await server.admin.query(END_ANALYZES, [databases, analyzeSeconds]);
      if (analyzing)
        logger.warn({ server: name, workers: analyzing }, 'ended workers of autovacuum in tables of tenants');
      const old = { roles, olderThanSeconds: maxStatementSeconds };
      const prepared = await rollBackPrepared(server, server.admin, old);
      if (prepared) logger.warn({ server: name, transactions: prepared }, 'rolled back transactions left prepared');
      ended += (lost ?? 0) + (analyzing ?? 0) + prepared;
    } catch (error) {
      logger.warn({ err: error, server: name }, 'a server of tenants was not looked through for lost connections');
    }
  }
  return ended;
}

interface Owned {
  server: string;
  databases: string[];
  roles: string[];
  owned: number[];
  isComplete: boolean;
}

// A move, or a restore, is no worker: its connection to the database that it holds is none that was lost.
// `isComplete`: all workers that have a session have reported. A worker of an older version has a session and does not report.
const OWNED = `
with report as (select * from tenant_connection where written_at > now() - interval '1 minute')
select d.server, array_agg(d.database_name) as databases, array_agg(d.role_name) || array_agg(d.role_name || '_full') as roles,
  array(select pid::int from report, jsonb_array_elements_text(report.backends -> d.server) as pid) as owned,
  (select count(*) from worker_session where ended_at is null and expires_at > now()) <= (select count(*) from report) as "isComplete"
from (select server, database_name, role_name from tenant_database where coalesce(moving_until, '-infinity') < now()
      union all select server, database_name, role_name from tenant_database_removal) as d
group by d.server`;

const END = `
select pg_terminate_backend(pid) from pg_stat_activity
where usename = any($1) and backend_type = 'client backend'
  and ($3 and not (pid = any($2)) and backend_start < now() - make_interval(secs => $4)
    or state = 'active' and query_start < now() - make_interval(secs => $5)
    or xact_start < now() - make_interval(secs => $5))`;

// Before PostgreSQL 18 only a superuser may end workers of autovacuum.
const END_ANALYZES = `
select pg_terminate_backend(pid) from pg_stat_activity a
where backend_type = 'autovacuum worker' and datname = any($1) and xact_start < now() - make_interval(secs => $2)
  and exists (select from pg_stat_progress_analyze p where p.pid = a.pid)
  and exists (select from pg_roles where rolname = 'pg_signal_autovacuum_worker' and pg_has_role(oid, 'USAGE'))`;
