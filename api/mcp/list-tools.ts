import type { ListToolsResult } from '@modelcontextprotocol/server';
import { readApprovalPolicy } from '../tools/approvals.ts';
import { present, presentWaiting } from '../tools/present.ts';
import { awaitTool, waits } from './approval.ts';
import type { Means } from './call-tool.ts';
import { groupTools } from './grouped.ts';
import { invalidParams } from './protocol-errors.ts';
import type { Session } from './session.ts';

/** About 130 kB: whole, the list would take the event loop for 17 ms at once. */
const PAGE = 50;

/** The tools that the caller may call; the cursor is the name of the last one of the page before. */
export async function listTools(
  { context, registry }: Means,
  { caller, identity, isGrouped }: Session,
  cursor: string | undefined,
): Promise<ListToolsResult> {
  const allowed = await registry.allowed(caller.tenantID, identity);
  const policy = await readApprovalPolicy(context.pool, caller.tenantID);
  const own = policy === 'none' || cursor !== undefined ? [] : [awaitTool];
  if (isGrouped) return { tools: [...groupTools(registry, allowed), ...own] };
  const begin = cursor === undefined ? 0 : allowed.findIndex(({ name }) => name === cursor) + 1;
  if (cursor !== undefined && begin === 0) throw invalidParams('cursor: expected the nextCursor of an earlier page');
  const page = allowed.slice(begin, begin + PAGE);
  const last = page.at(-1);
  const tools = page.map((tool) => (waits(tool, policy) ? presentWaiting(tool) : present(tool)));
  return { tools: [...own, ...tools], ...(last && begin + PAGE < allowed.length && { nextCursor: last.name }) };
}
