import { z } from 'zod';

/** Tool calls over MCP that wait until a person approves them: none, those that may destroy something, or all that change or send something. */
export const ToolApprovalPolicy = z.enum(['none', 'destructive', 'changes']);
export type ToolApprovalPolicy = z.infer<typeof ToolApprovalPolicy>;

/** Hours after which a call that no user has approved is not made any more. */
export const APPROVAL_HOURS = 24;
