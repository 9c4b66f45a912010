import { LockMode } from '@mikro-orm/postgresql';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { OAuthConnection } from '#shared/entities/tables/oauth-connection.ts';
import type { OAuthFlow } from '#shared/entities/tables/oauth-flow.ts';
import { OAuthRevocation } from '#shared/entities/tables/oauth-revocation.ts';
import { tellRevokers } from '#shared/messaging/oauth-revocations.ts';
import { createAsset } from '../../assets/assets.ts';
import type { ApiContext } from '../../context/context.ts';
import { tenantEntityManager } from '../../tenant/entity-manager.ts';

/** A grant of a provider. */
export interface Grant {
  oauthConnectionID: string;
  provider: string;
  fields: Pick<OAuthConnection, 'tokens' | 'expiresAt' | 'refreshAt' | 'scopes' | 'accountSubject' | 'accountEmail'>;
}

/**
 * Stores a grant as a new connection, or in the one that it renews. If that fails, because the quota has no room for example, it is
 * revoked: no connection would ever end it.
 */
export async function storeGrant(
  { orm, messaging: { backplane } }: ApiContext,
  { flow, grant, log }: { flow: OAuthFlow; grant: Grant; log: Logger },
): Promise<void> {
  const { oauthConnectionID: id, provider, fields } = grant;
  const { tenantID, caller } = flow;
  const em = tenantEntityManager(orm.em, tenantID);
  try {
    if (flow.oauthConnectionID) await renew(em, grant);
    else await createAsset(em, caller, 'datasource', OAuthConnection, { id, provider, ...fields });
  } catch (error) {
    await revokeLater(tenantEntityManager(orm.em, tenantID), flow, grant).catch((cause: unknown) =>
      log.warn({ err: cause, provider }, 'what a provider has granted will not be revoked'),
    );
    throw error;
  } finally {
    tellRevokers(backplane.messages, log);
  }
}

/** Stores the grant in its connection. A refresh under way loses its claim, since its tokens belong to the old account. */
async function renew(em: EntityManager, { oauthConnectionID: id, fields }: Grant): Promise<void> {
  await em.transactional(async (tx) => {
    const connection = await tx.findOne(OAuthConnection, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
    if (!connection) throw new AppError('NOT_FOUND', 'The OAuth connection has been deleted meanwhile');
    const generation = connection.generation + 1;
    const free = { refreshedAt: null, lastError: null, refreshClaim: null, refreshUntil: null };
    tx.assign(connection, { ...fields, ...free, status: 'connected', generation });
  });
}

async function revokeLater(em: EntityManager, { tenantID, caller }: OAuthFlow, grant: Grant): Promise<void> {
  const { oauthConnectionID, provider, fields } = grant;
  const { tokens, accountSubject, accountEmail } = fields;
  const creatorID = caller.userID ?? caller.id;
  const account = { accountSubject, accountEmail };
  em.create(OAuthRevocation, { id: newID(), tenantID, oauthConnectionID, creatorID, provider, tokens, ...account });
  await em.flush();
}
