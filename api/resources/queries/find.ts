import { LockMode } from '@mikro-orm/postgresql';
import { AppError } from '#shared/core/errors.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { DataQuery } from '#shared/entities/tables/data-query.ts';

/** The query of the path; `lock` keeps it as it is until the transaction ends. */
export async function getDataQuery(
  em: EntityManager,
  id: string,
  { lock = false }: { lock?: boolean } = {},
): Promise<DataQuery> {
  const query = await em.findOne(DataQuery, { id }, lock ? { lockMode: LockMode.PESSIMISTIC_WRITE as const } : {});
  if (!query) throw new AppError('NOT_FOUND', 'Data query not found');
  return query;
}
