import { LockMode } from '@mikro-orm/postgresql';
import { AppError } from '#shared/core/errors.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { AppPage } from '#shared/entities/tables/app-page.ts';

/** With `lock`, no other request changes the page until the transaction ends. */
export async function getAppPage(em: EntityManager, id: string, { lock = false } = {}): Promise<AppPage> {
  const options = lock ? { lockMode: LockMode.PESSIMISTIC_WRITE as const } : {};
  const appPage = await em.findOne(AppPage, { id }, options);
  if (!appPage) throw new AppError('NOT_FOUND', 'App page not found');
  return appPage;
}
