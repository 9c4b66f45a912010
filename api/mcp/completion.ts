import type { CompleteRequestParams, CompleteResult } from '@modelcontextprotocol/server';
import { listGuides } from '../tools/agent/guides.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import { findArguments } from './prompts.ts';
import { invalidParams } from './protocol-errors.ts';
import { argumentsOfTemplate, schemaKinds } from './resources.ts';
import type { Session } from './session.ts';

/** The most that the protocol allows. */
const MAX_VALUES = 100;

/** Arguments that are ids, and the lists in which these are found. */
const lists: Readonly<Record<string, { tool: string; field: string; id: string; isSearched: boolean }>> = {
  workflowID: { tool: 'list_workflows', field: 'workflows', id: 'id', isSearched: true },
  dataQueryID: { tool: 'list_queries', field: 'dataQueries', id: 'id', isSearched: true },
  instanceID: { tool: 'list_workflow_instances', field: 'instances', id: 'instanceID', isSearched: false },
};

/** Values for an argument of a prompt or of the address of a resource: ids that begin as typed, or whose title has what is typed. */
export async function complete(
  registry: ToolRegistry,
  { caller }: Session,
  { ref, argument: { name, value } }: CompleteRequestParams,
): Promise<CompleteResult> {
  const known = ref.type === 'ref/prompt' ? findArguments(ref.name) : argumentsOfTemplate(ref.uri);
  if (!known.includes(name)) throw invalidParams(`argument.name: expected ${known.join(' or ') || 'none'}`);
  if (name === 'kind') return answer(schemaKinds.filter((kind) => kind.startsWith(value)));
  if (name === 'guide')
    return answer((await listGuides()).map((guide) => guide.name).filter((each) => each.startsWith(value)));
  const list = lists[name];
  // The argument `goal` is free text.
  if (!list) return answer([]);
  const isID = /^[0-9a-f][0-9a-f-]*$/.test(value);
  const search = value !== '' && list.isSearched && !isID ? { search: value.slice(0, 255) } : {};
  const { status, body } = await registry.call(caller, list.tool, { limit: MAX_VALUES, ...search });
  // A caller who may not list the assets gets no values.
  const rows = status === 200 ? (body[list.field] as Record<string, unknown>[]) : [];
  const ids = rows.map((row) => String(row[list.id]));
  const found = isID || !list.isSearched ? ids.filter((id) => id.startsWith(value)) : ids;
  return answer(found, typeof body.nextCursor === 'string');
}

function answer(values: string[], hasMore = false): CompleteResult {
  return { completion: { values: values.slice(0, MAX_VALUES), hasMore } };
}
