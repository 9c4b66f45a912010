import type { ToolCallStatus } from '../../apps/ai/tool-calls.ts';
import { defineEntity, p, tenantFilter } from '../base.ts';

/** A call of a tool over MCP that a person decides. The calls that chats and nodes ask for are in the same table, without an origin. */
export const ToolApprovalSchema = defineEntity({
  name: 'ToolApproval',
  tableName: 'ai_tool_call',
  filters: tenantFilter,
  properties: {
    id: p.uuid().primary(),
    createdAt: p.datetime(),
    tenantID: p.uuid(),
    origin: p.string(),
    tool: p.string(),
    /** JSON of the input without secrets; what is called is the input itself. */
    shownInput: p.text(),
    inputDigest: p.string(),
    /** JSON of a `Caller`. */
    caller: p.text(),
    status: p.string().$type<ToolCallStatus>(),
    output: p.text().nullable(),
    reason: p.text().nullable(),
    decidedBy: p.uuid().nullable(),
    decidedAt: p.datetime().nullable(),
    expiresAt: p.datetime(),
    endedAt: p.datetime().nullable(),
  },
});

export class ToolApproval extends ToolApprovalSchema.class {}
ToolApprovalSchema.setClass(ToolApproval);
