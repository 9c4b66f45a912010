import type { RolePermission } from '../../access/policy/permissions.ts';
import { defineEntity, owned, p, tenantFilter } from '../base.ts';

/** A credential for programs, acting for its creator. The key itself is not stored, only its first 8 characters and SHA-256. */
export const ApiKeySchema = defineEntity({
  name: 'ApiKey',
  tableName: 'api_key',
  filters: tenantFilter,
  properties: {
    ...owned,
    apiKeyName: p.string(),
    apiKeyDescription: p.text().nullable(),
    prefix: p.string(),
    hash: p.blob(),
    permissions: p.json().$type<RolePermission[]>(),
    /** Null: never expires. */
    expiresAt: p.datetime().nullable(),
    isDisabled: p.boolean().default(false),
    lastUsedAt: p.datetime().nullable(),
  },
});

export class ApiKey extends ApiKeySchema.class {}
ApiKeySchema.setClass(ApiKey);
