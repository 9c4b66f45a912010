import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '#shared/core/errors.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import { ownRead } from '#shared/db/unavailable-store.ts';
import type { OAuthConnectionStatus } from '#shared/entities/tables/oauth-connection.ts';

/** A connection as stored now. */
export interface Stored {
  id: string;
  tenantID: string;
  provider: string;
  creatorID: string;
  accountSubject: string | null;
  accountEmail: string | null;
  tokens: string;
  status: OAuthConnectionStatus;
  generation: number;
  isDue: boolean;
  isExpired: boolean;
  isJustRefreshed: boolean;
}

export interface Refresh {
  tokens: string;
  expiresAt: Date | null;
  refreshAt: Date | null;
  /** Null if the scopes have not changed. */
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
  /** Stores refreshed tokens. If the claim was lost, because the connection was deleted or has another account, has them revoked. */
  store(claim: Claim, stored: Stored, refresh: Refresh): Promise<void>;
  /** Ends the claim of a refresh that has failed. */
  fail(claim: Claim, failure: Failure): Promise<void>;
  /** Marks a connection as broken that nothing can refresh. */
  end(stored: Stored, error: string): Promise<void>;
}

export interface Failure {
  error: string;
  /** The provider has ended the connection. */
  isFinal: boolean;
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
    async store({ id, oauthConnectionID }, stored, { tokens, expiresAt, refreshAt, scopes }) {
      const values = [oauthConnectionID, id, tokens, expiresAt, refreshAt, scopes && JSON.stringify(scopes)];
      // Retried, because the earlier tokens may be invalid now: a short outage of Postgres must not lose the connection.
      for (let attempt = 1; ; attempt += 1)
        try {
          const { rowCount } = await pool.query(STORE, values);
          if (rowCount === 0) await noteLeftTokens(stored, tokens);
          return;
        } catch (error) {
          if (attempt === MAX_STORE_ATTEMPTS) throw error;
          logger.warn({ err: error, oauthConnectionID }, 'refreshed tokens could not be stored yet');
          await sleep(2 ** attempt * 250);
        }
    },
    async fail({ id, oauthConnectionID }, { error, isFinal }) {
      await pool.query(FAIL, [oauthConnectionID, id, error, isFinal]);
    },
    async end({ id, generation }, error) {
      await pool.query(END, [id, generation, error]);
    },
  };

  async function noteLeftTokens(stored: Stored, tokens: string): Promise<void> {
    const { id, tenantID, creatorID, provider, accountSubject, accountEmail } = stored;
    await pool.query(NOTE_LEFT_TOKENS, [id, tenantID, creatorID, provider, accountSubject, accountEmail, tokens]);
  }
}

const READ = `
select id, tenant_id as "tenantID", provider, creator_id as "creatorID", account_subject as "accountSubject",
  account_email as "accountEmail", tokens, status, generation,
  coalesce(refresh_at <= now(), false) as "isDue", coalesce(expires_at <= now(), false) as "isExpired",
  coalesce(refreshed_at > now() - interval '30 seconds', false) as "isJustRefreshed"
from oauth_connection where id = $1 and tenant_id = $2`;

// The claim lasts longer than the wait for the provider and the storing of its answer.
const CLAIM = `
update oauth_connection set refresh_claim = $4, refresh_until = now() + interval '60 seconds'
where id = $1 and tenant_id = $2 and generation = $3 and status <> 'broken'
  and (refresh_until is null or refresh_until < now())`;

const FREE = 'refresh_claim = null, refresh_until = null';

const STORE = `
update oauth_connection set tokens = $3, expires_at = $4, refresh_at = $5, scopes = coalesce($6::jsonb, scopes),
  refreshed_at = now(), generation = generation + 1, status = 'connected', last_error = null, ${FREE}
where id = $1 and refresh_claim = $2`;

// A connection whose provider is away for some minutes is not shown as failing.
const FAIL = `
update oauth_connection set last_error = $3, ${FREE},
  status = case when $4 then 'broken' when expires_at < now() - interval '10 minutes' then 'failing' else status end
where id = $1 and refresh_claim = $2`;

const END = `
update oauth_connection set status = 'broken', last_error = $3 where id = $1 and generation = $2 and status <> 'broken'`;

const NOTE_LEFT_TOKENS = `
insert into oauth_revocation (oauth_connection_id, tenant_id, creator_id, provider, account_subject, account_email, tokens)
select $1::uuid, $2::uuid, $3::uuid, $4, $5::text, $6::text, $7::text
where not exists (select from oauth_connection where id = $1 and (account_subject <> $5) is not true)`;
