import { setTimeout as sleep } from 'node:timers/promises';
import { ownRead } from '#shared/db/own-read.ts';
import type { Pool } from '#shared/db/pool.ts';
import { AppError } from '#shared/errors.ts';
import type { Logger } from '#shared/logger.ts';

/** A connection as stored now. */
export interface Stored {
  id: string;
  tenantID: string;
  provider: string;
  account: string | null;
  tokens: string;
  status: 'connected' | 'broken';
  generation: number;
  isDue: boolean;
  isExpired: boolean;
  isJustRefreshed: boolean;
}

export interface Refresh {
  tokens: string;
  expiresAt: Date | null;
  refreshAt: Date | null;
  /** Null: unchanged. */
  scopes: string[] | null;
}

/** The right of one worker to refresh the connection. */
export interface Claim {
  id: string;
  oauthConnectionID: string;
}

/**
 * The rows of connections. A refresh is claimed in the row and not by a lock: no connection to Postgres is held while the
 * provider is slow, and the claim of a dead worker expires.
 */
export interface ConnectionRows {
  read(tenantID: string, id: string): Promise<Stored>;
  /** Undefined: another worker has the claim, or has refreshed the connection since it was read. */
  claim(stored: Stored, claimID: string): Promise<Claim | undefined>;
  store(claim: Claim, refresh: Refresh): Promise<void>;
  markBroken(claim: Claim): Promise<void>;
  release(claim: Claim): Promise<void>;
}

const MAX_STORE_ATTEMPTS = 6;

export function createConnectionRows(pool: Pool, logger: Logger): ConnectionRows {
  return {
    async read(tenantID, id) {
      const { rows } = await ownRead(() => pool.query<Stored>(READ, [id, tenantID]));
      if (!rows[0]) throw new AppError('NOT_FOUND', 'OAuth connection not found');
      return rows[0];
    },
    async claim({ id, tenantID, generation }, claimID) {
      const { rowCount } = await ownRead(() => pool.query(CLAIM, [id, tenantID, generation, claimID]));
      return rowCount === 1 ? { id: claimID, oauthConnectionID: id } : undefined;
    },
    async store({ id, oauthConnectionID }, { tokens, expiresAt, refreshAt, scopes }) {
      const values = [oauthConnectionID, id, tokens, expiresAt, refreshAt, scopes && JSON.stringify(scopes)];
      // The earlier tokens may be invalid now: an outage of Postgres of some seconds must not lose the connection.
      for (let attempt = 1; ; attempt += 1)
        try {
          await pool.query(STORE, values);
          return;
        } catch (error) {
          if (attempt === MAX_STORE_ATTEMPTS) throw error;
          logger.warn({ err: error, oauthConnectionID }, 'refreshed tokens could not be stored yet');
          await sleep(2 ** attempt * 250);
        }
    },
    async markBroken({ id, oauthConnectionID }) {
      await pool.query(BREAK, [oauthConnectionID, id]);
    },
    async release({ id, oauthConnectionID }) {
      await pool.query(RELEASE, [oauthConnectionID, id]);
    },
  };
}

const READ = `
select id, tenant_id as "tenantID", provider, coalesce(account_email, account_subject) as account, tokens, status, generation,
  coalesce(refresh_at <= now(), false) as "isDue", coalesce(expires_at <= now(), false) as "isExpired",
  coalesce(refreshed_at > now() - interval '30 seconds', false) as "isJustRefreshed"
from oauth_connection where id = $1 and tenant_id = $2`;

// Longer than the wait for the provider and the storing of its answer.
const CLAIM = `
update oauth_connection set refresh_claim = $4, refresh_until = now() + interval '60 seconds'
where id = $1 and tenant_id = $2 and generation = $3 and status = 'connected'
  and (refresh_until is null or refresh_until < now())`;

const FREE = 'refresh_claim = null, refresh_until = null';

const STORE = `
update oauth_connection set tokens = $3, expires_at = $4, refresh_at = $5, scopes = coalesce($6::jsonb, scopes),
  refreshed_at = now(), generation = generation + 1, ${FREE}
where id = $1 and refresh_claim = $2`;

const BREAK = `update oauth_connection set status = 'broken', ${FREE} where id = $1 and refresh_claim = $2`;

const RELEASE = `update oauth_connection set ${FREE} where id = $1 and refresh_claim = $2`;
