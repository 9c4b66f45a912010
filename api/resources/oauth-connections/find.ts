import { LockMode } from '@mikro-orm/postgresql';
import { AppError } from '#shared/core/errors.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { OAuthConnection } from '#shared/entities/tables/oauth-connection.ts';

/** The connection of the path; `lock` keeps it as it is until the transaction ends. */
export async function getConnection(
  em: EntityManager,
  id: string,
  { lock = false }: { lock?: boolean } = {},
): Promise<OAuthConnection> {
  const options = lock ? { lockMode: LockMode.PESSIMISTIC_WRITE as const } : {};
  const connection = await em.findOne(OAuthConnection, { id }, options);
  if (!connection) throw new AppError('NOT_FOUND', 'OAuth connection not found');
  return connection;
}
