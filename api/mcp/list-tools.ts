import type { Tool as ListedTool, ListToolsResult } from '@modelcontextprotocol/server';
import { readApprovalPolicy } from '../tools/approvals.ts';
import { present, presentShort, presentWaiting } from '../tools/present.ts';
import type { Tool } from '../tools/registry.ts';
import { awaitTool, waits } from './approval.ts';
import type { Means } from './call-tool.ts';
import { finderTools, groupedTools } from './finders.ts';
import { findOffered } from './offered.ts';
import { invalidParams } from './protocol-errors.ts';
import type { Session } from './session.ts';
import { listedOf, listsOffered } from './tool-choice.ts';

/** With the schemas of answers about 130 kB: whole, the list would take the event loop for 17 ms at once. */
const PAGE = 50;
/** Without them. Some clients read the first page only, and some fail with more tools than that. */
const SHORT_PAGE = 128;

/** The tools of the list that the caller may call; the cursor is the name of the last one of the page before. */
export async function listTools(means: Means, session: Session, cursor: string | undefined): Promise<ListToolsResult> {
  const { context, registry } = means;
  const { caller, identity, choice } = session;
  const allowed = await registry.allowed(caller.tenantID, identity);
  const policy = await readApprovalPolicy(context.pool, caller.tenantID);
  const own: ListedTool[] = cursor === undefined && policy !== 'none' ? [awaitTool] : [];
  if (choice.kind === 'grouped') return { tools: [...groupedTools(registry, allowed), ...own] };
  const isShort = choice.kind !== 'all';
  const listed = listedOf(choice, allowed);
  const begin = cursor === undefined ? 0 : listed.findIndex(({ name }) => name === cursor) + 1;
  if (cursor !== undefined && begin === 0) throw invalidParams('cursor: expected the nextCursor of an earlier page');
  const end = begin + (isShort ? SHORT_PAGE : PAGE);
  const last = listed.slice(begin, end).at(-1);
  const isOver = end >= listed.length;
  const as = isShort ? presentShort : present;
  const show = (tool: Tool) => (waits(tool, policy) ? presentWaiting(tool, as) : as(tool));
  const finders = isShort && isOver ? finderTools(registry, allowed) : [];
  const offered = isShort && isOver ? await offeredTo(means, session) : [];
  const tools = [...own, ...listed.slice(begin, end).map(show), ...finders, ...offered];
  return { tools, ...(last && !isOver && { nextCursor: last.name }) };
}

/** Workflows and queries as tools of their own, in the default list and where the address asks for `offered`. */
async function offeredTo({ context, registry }: Means, session: Session): Promise<ListedTool[]> {
  if (!listsOffered(session.choice)) return [];
  return [...(await findOffered(context, registry, session)).values()].map(({ listed }) => listed);
}
