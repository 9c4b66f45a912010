import type { Json } from '../../core/json.ts';
import { defineEntity, identified, p, tenantFilter } from '../base.ts';

/** A named value that the workflows of a tenant share. A trigger raises the tenant's `variables_version` with each change. */
export const TenantVariableSchema = defineEntity({
  name: 'TenantVariable',
  tableName: 'tenant_variable',
  filters: tenantFilter,
  properties: {
    ...identified,
    tenantID: p.uuid(),
    creatorID: p.uuid(),
    createdByApiKeyID: p.uuid().nullable(),
    name: p.string(),
    description: p.text().nullable(),
    /** The value, in an object so that JSON's null is not SQL's null. Null or undefined for a secret. */
    value: p.json().$type<{ is: Json }>().nullable(),
    /** Sealed, with the context in `sealedColumns`; null for a variable that is no secret. */
    secret: p.text().nullable(),
  },
});

export class TenantVariable extends TenantVariableSchema.class {}
TenantVariableSchema.setClass(TenantVariable);
