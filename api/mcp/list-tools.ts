import type { ListToolsResult } from '@modelcontextprotocol/server';
import type { ToolRegistry } from '../tools/registry.ts';
import { groupTools } from './grouped.ts';
import { present } from './present.ts';
import { invalidParams } from './protocol-errors.ts';
import type { Session } from './session.ts';

/** About 130 kB: whole, the list would take the event loop for 17 ms at once. */
const PAGE = 50;

/** The tools that the caller may call; the cursor is the name of the last one of the page before. */
export async function listTools(
  registry: ToolRegistry,
  { caller, identity, isGrouped }: Session,
  cursor: string | undefined,
): Promise<ListToolsResult> {
  const allowed = await registry.allowed(caller.tenantID, identity);
  if (isGrouped) return { tools: groupTools(registry, allowed) };
  const begin = cursor === undefined ? 0 : allowed.findIndex(({ name }) => name === cursor) + 1;
  if (cursor !== undefined && begin === 0) throw invalidParams('cursor: expected the nextCursor of an earlier page');
  const page = allowed.slice(begin, begin + PAGE);
  const last = page.at(-1);
  return { tools: page.map(present), ...(last && begin + PAGE < allowed.length && { nextCursor: last.name }) };
}
