import { hash } from 'node:crypto';
import { parseJSON } from '#shared/concurrency/parse-json.ts';
import type { Json } from '#shared/core/json.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import { createThrottledWarning } from '#shared/core/throttled-warning.ts';
import { createRowEviction, type EvictionLimits } from '#shared/db/evict-oldest.ts';
import type { Pool } from '#shared/db/pool.ts';
import { ownRead } from '#shared/db/unavailable-store.ts';
import type { QueryResult } from '../../connections/connection.ts';

/** Cached answers are sealed, since they are the tenant's data. Larger ones are not cached. */
const MAX_CACHED_BYTES = 1024 * 1024;

export interface QueryCache {
  read(key: string): Promise<QueryResult | undefined>;
  write(key: string, tenantID: string, result: QueryResult, seconds: number): Promise<void>;
}

/** Limits of the cached results of one tenant. Beyond them, the results that expire first are deleted. */
const LIMITS: EvictionLimits = { maxBytes: 256 * 1024 ** 2, maxRows: 50_000 };

interface Options {
  pool: Pool;
  secrets: KeyRing;
  logger: Logger;
}

export function createQueryCache({ pool, secrets, logger }: Options, limits = LIMITS): QueryCache {
  const trim = createRowEviction({ pool, statement: TRIM, ...limits, warn: createThrottledWarning(logger) });
  return {
    async read(key) {
      const { rows } = await ownRead(() => pool.query<{ sealed: string }>(READ, [key]));
      const [row] = rows;
      // An answer that no key here opens is as good as none: the query runs again.
      const text = row && secrets.tryOpen(row.sealed, contextOf(key));
      // Safe: `write` has written it.
      return text === undefined ? undefined : ((await parseJSON(text)) as QueryResult);
    },
    async write(key, tenantID, result, seconds) {
      const text = JSON.stringify(result);
      if (Buffer.byteLength(text) > MAX_CACHED_BYTES) return;
      const sealed = secrets.seal(text, contextOf(key));
      await pool.query(
        `insert into query_cache (key, tenant_id, sealed, expires_at) values ($1, $2, $3, now() + make_interval(secs => $4))
         on conflict (key) do update set sealed = excluded.sealed, expires_at = excluded.expires_at`,
        [key, tenantID, sealed, seconds],
      );
      await trim.wrote(tenantID, sealed.length);
    },
  };
}

/** Key of a query with its inputs, for one tenant and one version of the datasource. */
export function cacheKey(parts: { tenantID: string; datasource: Json; question: Json }): string {
  return hash('sha256', JSON.stringify([parts.tenantID, parts.datasource, parts.question]));
}

const READ = 'select sealed from query_cache where key = $1 and expires_at > now()';

// Postgres knows `octet_length` of a value without reading the value.
export const TRIM = `
delete from query_cache where ctid = any(array(
  select id from (
    select ctid as id, sum(octet_length(sealed)) over latest as bytes, row_number() over latest as n
    from query_cache where tenant_id = $1
    window latest as (order by expires_at desc, ctid rows unbounded preceding)
  ) kept
  where bytes > $2::bigint or n > $3::int))`;

function contextOf(key: string): string {
  return `query_cache:${key}`;
}
