import type { Tool as ListedTool } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { subjectsOf } from '#shared/core/caller.ts';
import { DataQuery } from '#shared/entities/tables/data-query.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { InputDefinition } from '#shared/workflow/inputs.ts';
import type { ApiContext } from '../context/context.ts';
import { callerOf } from '../http/serve/mount.ts';
import { tenantEntityManager } from '../tenant/entity-manager.ts';
import { schemaOfInputs } from '../tools/input-schema.ts';
import { readArguments } from '../tools/read-arguments.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import type { ToolArguments } from '../tools/tool.ts';
import type { Session } from './session.ts';

/** A workflow or a query that its owner offers as a tool. */
export interface OfferedTool {
  listed: ListedTool;
  /** The call of the tool that runs it. */
  callWith(args: ToolArguments): { name: string; arguments: ToolArguments };
}

/** Offered assets that one list has at most, and those that are looked at: the newest. */
const MAX_OFFERED = 40;
const MAX_LOOKED_AT = 200;
const MAX_NAME = 47;
const MAX_DESCRIPTION = 600;

interface Asset {
  kind: 'workflow' | 'dataquery';
  id: string;
  title: string;
  description: string | null;
  createdAt: Date;
}

type Definitions = Parameters<typeof schemaOfInputs>[0];

/** The offered workflows and queries that the caller may execute, by the names of their tools. */
export async function findOffered(
  context: ApiContext,
  registry: ToolRegistry,
  { caller: { tenantID }, identity }: Session,
): Promise<Map<string, OfferedTool>> {
  const assets = await readOffered(context, tenantID);
  const { membership } = identity;
  if (assets.length === 0 || !membership) return new Map();
  const subjects = subjectsOf(callerOf(identity));
  const caller = { tenantID, version: membership.policyVersion, subjects };
  const may = await Promise.all(
    assets.map(({ kind, id }) => context.access.policy.can({ ...caller, object: `${kind}:${id}`, action: 'execute' })),
  );
  // A name depends on all assets that are offered, so that it is the same for every caller.
  const names = namesOf(assets, registry);
  const named = assets.map((asset, at) => [names[at] ?? asset.id, asset] as const).filter((_pair, at) => may[at]);
  const mine = named.slice(0, MAX_OFFERED);
  const ids = mine.map(([, { id }]) => id);
  const definitions = ids.length > 0 ? await readDefinitions(context, tenantID, ids) : new Map<string, Definitions>();
  return new Map(mine.map(([name, asset]) => [name, toolOf(name, asset, definitions.get(asset.id) ?? [])]));
}

/** The declared inputs of assets. The rest of their options is not read, since it may have megabytes. */
async function readDefinitions(
  { pool }: ApiContext,
  tenantID: string,
  ids: readonly string[],
): Promise<Map<string, Definitions>> {
  const { rows } = await pool.query<{ id: string; definitions: unknown }>(DEFINITIONS, [tenantID, ids]);
  return new Map(rows.map(({ id, definitions }) => [id, InputDefinitions.safeParse(definitions).data ?? []]));
}

const InputDefinitions = z.array(InputDefinition);

const DEFINITIONS = `
select id, workflow_options -> 'inputDefinitions' as definitions from workflow where tenant_id = $1 and id = any($2::uuid[])
union all
select id, data_query_options -> 'inputDefinitions' from data_query where tenant_id = $1 and id = any($2::uuid[])`;

async function readOffered({ orm }: ApiContext, tenantID: string): Promise<Asset[]> {
  const em = tenantEntityManager(orm.em, tenantID);
  const newest = { orderBy: { createdAt: 'desc' as const }, limit: MAX_LOOKED_AT };
  const offered = { isOfferedAsTool: true, isDisabled: false };
  const workflows = await em.find(
    Workflow,
    { ...offered, versionID: { $ne: null } },
    { ...newest, fields: ['title', 'workflowDescription', 'createdAt'] },
  );
  const queries = await em.find(DataQuery, offered, {
    ...newest,
    fields: ['dataQueryTitle', 'dataQueryDescription', 'createdAt'],
  });
  const all: Asset[] = [
    ...workflows.map((one) => ({
      ...{ kind: 'workflow' as const, id: one.id, title: one.title, createdAt: one.createdAt },
      description: one.workflowDescription ?? null,
    })),
    ...queries.map((one) => ({
      ...{ kind: 'dataquery' as const, id: one.id, title: one.dataQueryTitle, createdAt: one.createdAt },
      description: one.dataQueryDescription ?? null,
    })),
  ];
  return all.sort((one, other) => one.createdAt.getTime() - other.createdAt.getTime());
}

/** Names by title. One that another tool has, or a title without letters of ASCII, gets the end of the id. */
function namesOf(assets: readonly Asset[], registry: ToolRegistry): string[] {
  const plain = assets.map(({ title }) => nameOf(title));
  return assets.map(({ kind, id }, at) => {
    const name = plain[at] ?? '';
    const isUnique = plain.indexOf(name) === at && !registry.tools.has(name) && !reserved.has(name);
    if (name !== '' && isUnique) return name;
    const base = name || (kind === 'workflow' ? 'run_workflow' : 'run_query');
    return `${base.slice(0, MAX_NAME - 7)}_${id.slice(-6)}`;
  });
}

const reserved: ReadonlySet<string> = new Set(['find_tools', 'search_tools', 'call_tool', 'await_tool_approval']);

function nameOf(title: string): string {
  const words =
    title
      .normalize('NFKD')
      .replace(/[̀-ͯ]/g, '')
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? [];
  const name = words.join('_').slice(0, MAX_NAME).replace(/_$/, '');
  return /^[a-z]/.test(name) ? name : name && `run_${name}`.slice(0, MAX_NAME);
}

function toolOf(name: string, { kind, id, title, description }: Asset, definitions: Definitions): OfferedTool {
  const { schema, inputs } = schemaOfInputs(definitions);
  const isWorkflow = kind === 'workflow';
  const what = isWorkflow ? 'Runs the workflow' : 'Runs the query';
  const said = description ? ` ${description.slice(0, MAX_DESCRIPTION).toWellFormed()}` : '';
  const listed = {
    name,
    title,
    description: `${what} “${title}”.${said}`,
    inputSchema: schema,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  } as ListedTool;
  return {
    listed,
    callWith(args) {
      const read = readArguments(schema, args);
      const given = Object.fromEntries(
        Object.entries(read).map(([argument, value]) => [inputs[argument] ?? argument, value]),
      );
      return isWorkflow
        ? { name: 'run_workflow', arguments: { workflowID: id, args: given } }
        : { name: 'run_query', arguments: { dataQueryID: id, inputValues: given } };
    },
  };
}
