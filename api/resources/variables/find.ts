import { AppError } from '#shared/core/errors.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { TenantVariable } from '#shared/entities/tables/tenant-variable.ts';

export async function getVariable(em: EntityManager, id: string): Promise<TenantVariable> {
  const variable = await em.findOne(TenantVariable, { id });
  if (!variable) throw new AppError('NOT_FOUND', 'Variable not found');
  return variable;
}
