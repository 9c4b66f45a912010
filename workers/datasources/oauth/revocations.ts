import { startPeriodicTask } from '#shared/concurrency/periodic-task.ts';
import { toAppError } from '#shared/core/errors.ts';
import { isUnreadableSecret } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Messages } from '#shared/messaging/backplane/index.ts';
import { REVOCATIONS_CHANNEL } from '#shared/messaging/oauth-revocations.ts';
import { TENANT_DELETED_CHANNEL } from '#shared/tenants/delete-tenant.ts';
import type { LeftTokens, OAuthConnections } from './connections.ts';

/** Revocations at once in this process. */
const AT_ONCE = 10;
/** Revocations of one tenant among them. */
const OF_A_TENANT = 2;
/** Lease of a claimed row: longer than an attempt, which sends up to two requests. Then another worker may claim the row. */
const CLAIM_SECONDS = 60;
const BACKOFF_SECONDS = { first: 5, most: 3_600 };
/** Attempts over about three days, by the pauses between them. */
const MAX_ATTEMPTS = 80;

interface Needs {
  pool: Pool;
  oauthConnections: Pick<OAuthConnections, 'revoke'>;
  logger: Logger;
}

interface Revocation extends LeftTokens {
  id: string;
  tenantID: string;
  attempts: number;
  /** Whether a connection exists that has the same account or the same tokens. */
  isUsed: boolean;
}

/**
 * Revokes tokens that no connection has any more, at the provider. Triggers write a row of them with the deletion of a connection or
 * a tenant, so that neither waits for the provider. Every worker does so; they share the work by rows that they claim.
 */
export function createRevocationJob(needs: Needs & { messages: Messages }): AsyncDisposable {
  const { messages, logger } = needs;
  const stopping = new AbortController();
  const step = { name: 'revoke tokens', everyMs: 10_000, run: () => revokeDue({ ...needs, signal: stopping.signal }) };
  const task = startPeriodicTask(step, logger);
  const subscriptions = [REVOCATIONS_CHANNEL, TENANT_DELETED_CHANNEL].map((channel) =>
    messages.subscribe(channel, () => task.trigger()),
  );
  return {
    async [Symbol.asyncDispose]() {
      for (const unsubscribe of subscriptions) unsubscribe();
      stopping.abort();
      await task[Symbol.asyncDispose]();
    },
  };
}

interface Revoking extends Needs {
  signal: AbortSignal;
}

async function revokeDue(needs: Revoking): Promise<void> {
  const values = [AT_ONCE, OF_A_TENANT, CLAIM_SECONDS];
  const { rows } = await needs.pool.query<Revocation>({ name: 'oauth_revocations', text: CLAIM, values });
  await Promise.all(rows.map((row) => settle(row, needs)));
}

async function settle(row: Revocation, { pool, oauthConnections, signal, logger }: Revoking): Promise<void> {
  const { id, tenantID, oauthConnectionID, provider, attempts, isUsed } = row;
  try {
    // Google and others revoke everything that a person has granted to this client, which would end the other connection too.
    if (!isUsed) await oauthConnections.revoke(row, signal);
    await pool.query('delete from oauth_revocation where id = $1', [id]);
  } catch (error) {
    // This process stops. Another worker claims the row when the lease has expired.
    if (signal.aborted) return;
    const { message, code } = toAppError(error);
    const about = { err: error, tenantID, oauthConnectionID, provider, attempts };
    // CONFLICT: the provider is no longer configured in this deployment, so a retry is of no use; but a missing key may come back.
    if (attempts < MAX_ATTEMPTS && (code !== 'CONFLICT' || isUnreadableSecret(error))) {
      logger.debug(about, 'tokens of an OAuth connection could not be revoked yet');
      const pauseSeconds = Math.min(BACKOFF_SECONDS.first * 2 ** (attempts - 1), BACKOFF_SECONDS.most);
      await pool.query(POSTPONE, [id, pauseSeconds]);
      return;
    }
    logger.warn(about, 'tokens of an OAuth connection were not revoked at the provider');
    await pool.query(GIVE_UP, [id, message]);
  }
}

const CLAIM = `
with due as (
  select id, row_number() over (partition by tenant_id order by ready_at) as nth from oauth_revocation where ready_at <= now()
),
picked as (
  select r.id from oauth_revocation r
  where r.id in (select id from due where nth <= $2 order by nth, id limit $1) and r.ready_at <= now()
  for update skip locked
)
update oauth_revocation r set attempts = attempts + 1, ready_at = now() + make_interval(secs => $3)
from picked where r.id = picked.id
returning r.id, r.tenant_id as "tenantID", r.oauth_connection_id as "oauthConnectionID", r.provider, r.tokens, r.attempts,
  exists (select from oauth_connection c where c.provider = r.provider and c.account_subject = r.account_subject)
    or exists (select from oauth_connection c where c.id = r.oauth_connection_id and c.tokens = r.tokens) as "isUsed"`;

const POSTPONE = 'update oauth_revocation set ready_at = now() + make_interval(secs => $2) where id = $1';

// Deletes the row and notifies the person who had connected the account, who can remove the access at the provider.
const GIVE_UP = `
with gone as (delete from oauth_revocation where id = $1 returning *)
insert into notification (tenant_id, user_id, kind, title, description, subject_id, action, action_text)
select g.tenant_id, g.creator_id, 'connectionNotRevoked',
  left(concat('Remove the access at ', g.provider, ' (' || coalesce(g.account_email, g.account_subject) || ')'), 255),
  left('The connection is deleted, but its access could not be ended at the provider: ' || $2::text, 1000), g.oauth_connection_id,
  '../tenants/' || g.tenant_id, 'Open'
from gone g join membership m on m.tenant_id = g.tenant_id and m.user_id = g.creator_id`;
