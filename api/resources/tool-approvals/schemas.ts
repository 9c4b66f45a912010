import { z } from 'zod';
import { ToolApprovalPolicy as Policy } from '#shared/apps/ai/tool-approvals.ts';
import { Json } from '#shared/core/json.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { exampleIDs, exampleTimes } from '../../http/fields/example-ids.ts';
import { Flag } from '../../http/fields/flag.ts';
import { pageFields, pageQuery, standardPage } from '../../http/fields/paging.ts';

export const ToolCallID = z.object({ toolCallID: idOf('toolCall') });

export const ToolApprovalList = z.object({
  ...pageQuery(standardPage),
  waiting: Flag.describe('Returns only those that wait for a decision'),
});

export const ToolApproval = z
  .object({
    toolCallID: z.uuid(),
    tenantID: z.uuid(),
    tool: z.string(),
    input: Json.describe('Without secrets. Approved is the input as it was recorded'),
    inputDigest: z.string().describe('SHA-256 of the input as it was recorded'),
    status: z
      .enum(['asked', 'ready', 'done', 'failed', 'denied', 'expired'])
      .describe('`asked`: it waits for a person. `ready`: it was approved and is under way'),
    caller: z
      .object({ type: z.enum(['user', 'apiKey']), id: z.uuid(), userID: z.uuid() })
      .meta({ id: 'ToolCaller', description: 'By whose rights it is called. Of an API key, `userID` is its creator' }),
    reason: z.string().nullable().describe('Why it was refused'),
    error: z.string().nullable().describe('How it failed'),
    decidedBy: z.uuid().nullable(),
    decidedAt: z.iso.datetime().nullable(),
    createdAt: z.iso.datetime(),
    expiresAt: z.iso.datetime(),
    endedAt: z.iso.datetime().nullable(),
  })
  .meta({
    id: 'ToolApproval',
    description: 'A call of a tool over MCP that waits for a person, or has waited',
    examples: [
      {
        toolCallID: exampleIDs.toolCallID,
        tenantID: exampleIDs.tenantID,
        tool: 'delete_workflow',
        input: { workflowID: exampleIDs.workflowID },
        inputDigest: '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae',
        status: 'asked',
        caller: { type: 'user', id: exampleIDs.userID, userID: exampleIDs.userID },
        reason: null,
        error: null,
        decidedBy: null,
        decidedAt: null,
        createdAt: exampleTimes.createdAt,
        expiresAt: '2026-03-03T09:30:00.000Z',
        endedAt: null,
      },
    ],
  });

export const ToolApprovalPage = z
  .object({ toolApprovals: z.array(ToolApproval), ...pageFields })
  .meta({ id: 'ToolApprovalPage' });

export const ToolRefusal = z
  .object({ reason: z.string().max(1_000).optional().describe('Told to the client that made the call') })
  .meta({ id: 'ToolRefusal', examples: [{ reason: 'It is still in use' }] });

const policyFields = {
  policy: Policy.describe(
    'Which calls over MCP wait for a person: none, those that may destroy something, or all that change something or send it away',
  ),
  byAnother: z.boolean().describe('The caller may not approve their own calls'),
};

export const ToolApprovalPolicy = z
  .object(policyFields)
  .meta({ id: 'ToolApprovalPolicy', examples: [{ policy: 'destructive', byAnother: false }] });

export const ToolApprovalPolicyChange = z
  .object({ policy: policyFields.policy, byAnother: policyFields.byAnother.optional() })
  .meta({ id: 'ToolApprovalPolicyChange', examples: [{ policy: 'destructive', byAnother: false }] });
