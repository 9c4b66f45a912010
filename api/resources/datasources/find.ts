import { LockMode } from '@mikro-orm/postgresql';
import { AppError } from '#shared/core/errors.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Datasource } from '#shared/entities/tables/datasource.ts';

/** The datasource of the path; `lock` keeps it as it is until the transaction ends. */
export async function getDatasource(
  em: EntityManager,
  id: string,
  { lock = false }: { lock?: boolean } = {},
): Promise<Datasource> {
  const options = lock ? { lockMode: LockMode.PESSIMISTIC_WRITE as const } : {};
  const datasource = await em.findOne(Datasource, { id }, options);
  if (!datasource) throw new AppError('NOT_FOUND', 'Datasource not found');
  return datasource;
}
