import { z } from 'zod';

/** Which calls of tools over MCP wait for a person: none, those that may destroy something, or all that change something or send it away. */
export const ToolApprovalPolicy = z.enum(['none', 'destructive', 'changes']);
export type ToolApprovalPolicy = z.infer<typeof ToolApprovalPolicy>;

/** A call that is not decided by then is not made. */
export const APPROVAL_HOURS = 24;
