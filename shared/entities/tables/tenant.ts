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
    /** The time since which the tenant is paused: no run of any workflow begins, except those that other runs start. */
    pausedAt: p.datetime().nullable(),
    creatorID: p.uuid(),
    /** The kinds of tool calls over MCP that wait until a person approves them. */
    toolApproval: p.string().$type<ToolApprovalPolicy>().default('none'),
    /** Whether the person who approves must not be the caller. */
    isApprovedByAnother: p.boolean().default(false),
  },
});

export class Tenant extends TenantSchema.class {}
TenantSchema.setClass(Tenant);
