import type { z } from 'zod';
import { read } from '#shared/apps/ai/tool-calls.ts';
import { Caller } from '#shared/core/caller.ts';
import type { ToolApproval as Entity } from '#shared/entities/tables/tool-approval.ts';
import type { ToolApproval } from './schemas.ts';

export function presentToolApproval(call: Entity): z.input<typeof ToolApproval> {
  const { type, id, userID = id } = Caller.parse(JSON.parse(call.caller));
  const { tenantID, tool, inputDigest, status, reason = null, decidedBy = null, expiresAt } = call;
  return {
    ...{ toolCallID: call.id, tenantID, tool, inputDigest, reason, decidedBy },
    input: read(call.shownInput),
    status: status === 'asked' && expiresAt <= new Date() ? 'expired' : status,
    caller: { type: type === 'apiKey' ? 'apiKey' : 'user', id, userID },
    error: status === 'failed' ? String(read(call.output ?? null)) : null,
    decidedAt: call.decidedAt?.toISOString() ?? null,
    createdAt: call.createdAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
    endedAt: call.endedAt?.toISOString() ?? null,
  };
}
