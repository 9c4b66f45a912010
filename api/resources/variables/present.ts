import type { z } from 'zod';
import type { KeyRing } from '#shared/core/key-ring.ts';
import { MASK } from '#shared/core/schema/secret.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import type { TenantVariable } from '#shared/entities/tables/tenant-variable.ts';
import type { Variable } from './schemas.ts';

/** Whether the variable is no secret, or one that a key here opens. */
export function isReadable(secrets: KeyRing, { id, secret }: TenantVariable): boolean {
  return typeof secret !== 'string' || secrets.canOpen(secret, sealedColumns.variableSecret.context(id));
}

export function presentVariable(variable: TenantVariable, secrets: KeyRing): z.input<typeof Variable> {
  const { id, tenantID, name, value, secret, creatorID } = variable;
  const isSecret = typeof secret === 'string';
  return {
    id,
    tenantID,
    name,
    value: isSecret ? MASK : (value?.is ?? null),
    isSecret,
    isReadable: isReadable(secrets, variable),
    description: variable.description ?? null,
    creatorID,
    createdByApiKeyID: variable.createdByApiKeyID ?? null,
    createdAt: variable.createdAt.toISOString(),
    updatedAt: variable.updatedAt.toISOString(),
  };
}
