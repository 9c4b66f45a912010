import type { z } from 'zod';
import { MASK } from '#shared/core/schema/secret.ts';
import type { TenantVariable } from '#shared/entities/tables/tenant-variable.ts';
import type { Variable } from './schemas.ts';

export function presentVariable(variable: TenantVariable): z.input<typeof Variable> {
  const { id, tenantID, name, value, secret, creatorID } = variable;
  const isSecret = typeof secret === 'string';
  return {
    id,
    tenantID,
    name,
    value: isSecret ? MASK : (value?.is ?? null),
    isSecret,
    description: variable.description ?? null,
    creatorID,
    createdByApiKeyID: variable.createdByApiKeyID ?? null,
    createdAt: variable.createdAt.toISOString(),
    updatedAt: variable.updatedAt.toISOString(),
  };
}
