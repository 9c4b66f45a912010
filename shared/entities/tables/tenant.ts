import type { ToolApprovalPolicy } from '../../apps/ai/tool-approvals.ts';
import { defineEntity, identified, p } from '../base.ts';

export const TenantSchema = defineEntity({
  name: 'Tenant',
  tableName: 'tenant',
  properties: {
    ...identified,
    tenantTitle: p.string(),
    tenantDescription: p.text().nullable(),
    tenantLogoURL: p.text().nullable().fieldName('tenant_logo_url'),
    /** Sealed, with the context in `sealedColumns`. */
    tenantDBURL: p.text().nullable().fieldName('tenant_db_url'),
    deletingAt: p.datetime().nullable(),
    /** Since when no run begins that comes from outside, of any workflow. */
    pausedAt: p.datetime().nullable(),
    creatorID: p.uuid(),
    /** Which calls of tools over MCP wait for a person. */
    toolApproval: p.string().$type<ToolApprovalPolicy>().default('none'),
    /** That person must be another one than the caller. */
    isApprovedByAnother: p.boolean().default(false),
  },
});

export class Tenant extends TenantSchema.class {}
TenantSchema.setClass(Tenant);
