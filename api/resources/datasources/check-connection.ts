import { LockMode } from '@mikro-orm/postgresql';
import type { JsonObject } from '#shared/core/json.ts';
import { invalid } from '#shared/core/schema/issues.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { OAuthConnection } from '#shared/entities/tables/oauth-connection.ts';

/** An OAuth connection that options use must be the tenant's, and stays until the transaction, if there is one, ends. */
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
