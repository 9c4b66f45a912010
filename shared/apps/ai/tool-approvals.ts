import { z } from 'zod';

/** Which calls of tools over MCP wait for a person: none, those that may destroy something, or all that change something or send it away. */
export const ToolApprovalPolicy = z.enum(['none', 'destructive', 'changes']);
export type ToolApprovalPolicy = z.infer<typeof ToolApprovalPolicy>;

/** Hours after which a call that nobody has approved is not made any more. */
export const APPROVAL_HOURS = 24;
