import { hash } from 'node:crypto';
import type { KeyRing } from '#shared/crypto.ts';
import { ownRead } from '#shared/db/own-read.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Json } from '#shared/json.ts';
import type { QueryResult } from '../connections/connection.ts';

/** Cached answers are sealed, since they are the tenant's data. Larger ones are not cached. */
const MAX_CACHED_BYTES = 1024 * 1024;

export interface QueryCache {
  read(key: string): Promise<QueryResult | undefined>;
  write(key: string, tenantID: string, result: QueryResult, seconds: number): Promise<void>;
}

export function createQueryCache(pool: Pool, secrets: KeyRing): QueryCache {
  return {
    async read(key) {
      const { rows } = await ownRead(() => pool.query<{ sealed: string }>(READ, [key]));
      const [row] = rows;
      return row ? JSON.parse(secrets.open(row.sealed, contextOf(key))) : undefined;
    },
    async write(key, tenantID, result, seconds) {
      const text = JSON.stringify(result);
      if (Buffer.byteLength(text) > MAX_CACHED_BYTES) return;
      await pool.query(
        `insert into query_cache (key, tenant_id, sealed, expires_at) values ($1, $2, $3, now() + make_interval(secs => $4))
         on conflict (key) do update set sealed = excluded.sealed, expires_at = excluded.expires_at`,
        [key, tenantID, secrets.seal(text, contextOf(key)), seconds],
      );
    },
  };
}

/** Key of a query with its inputs, for one tenant and one version of the datasource. */
export function cacheKey(parts: { tenantID: string; datasource: Json; question: Json }): string {
  return hash('sha256', JSON.stringify([parts.tenantID, parts.datasource, parts.question]));
}

const READ = 'select sealed from query_cache where key = $1 and expires_at > now()';

function contextOf(key: string): string {
  return `query_cache:${key}`;
}
