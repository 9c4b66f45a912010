import { LockMode } from '@mikro-orm/postgresql';
import type { JsonObject } from '#shared/core/json.ts';
import { invalid } from '#shared/core/schema/issues.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { OAuthConnection } from '#shared/entities/tables/oauth-connection.ts';

/**
 * Rejects options with an OAuth connection that the tenant does not have. Within a transaction, the connection is locked
 * until its end.
 */
export async function checkConnection(em: EntityManager, options: JsonObject): Promise<void> {
  if (!usesConnection(options)) return;
  const { oauthConnectionID } = options;
  const path = ['datasourceOptions', 'oauthConnectionID'];
  if (typeof oauthConnectionID !== 'string') throw invalid([{ path, message: 'is required' }]);
  const lock = em.isInTransaction() ? { lockMode: LockMode.PESSIMISTIC_READ as const } : {};
  const connection = await em.findOne(OAuthConnection, { id: oauthConnectionID }, { fields: ['id'], ...lock });
  if (!connection) throw invalid([{ path, message: 'there is no such OAuth connection' }]);
}

export function usesConnection({ authType }: JsonObject): boolean {
  return authType === 'oauthConnection';
}
