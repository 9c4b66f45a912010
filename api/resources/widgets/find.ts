import { LockMode } from '@mikro-orm/postgresql';
import { AppError } from '#shared/core/errors.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Widget } from '#shared/entities/tables/widget.ts';

/** The widget of the path; `lock` keeps it as it is until the transaction ends. */
export async function getWidget(
  em: EntityManager,
  id: string,
  { lock = false }: { lock?: boolean } = {},
): Promise<Widget> {
  const widget = await em.findOne(Widget, { id }, lock ? { lockMode: LockMode.PESSIMISTIC_WRITE as const } : {});
  if (!widget) throw noWidget();
  return widget;
}

export function noWidget(): AppError {
  return new AppError('NOT_FOUND', 'Widget not found');
}
