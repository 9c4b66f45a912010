import { LockMode } from '@mikro-orm/postgresql';
import { AppError } from '#shared/core/errors.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Dashboard } from '#shared/entities/tables/dashboard.ts';

/** With `lock`, no other request changes the dashboard until the transaction ends. */
export async function getDashboard(em: EntityManager, id: string, { lock = false } = {}): Promise<Dashboard> {
  const options = lock ? { lockMode: LockMode.PESSIMISTIC_WRITE as const } : {};
  const dashboard = await em.findOne(Dashboard, { id }, options);
  if (!dashboard) throw new AppError('NOT_FOUND', 'Dashboard not found');
  return dashboard;
}
