import { isDeepStrictEqual } from 'node:util';
import { LockMode } from '@mikro-orm/postgresql';
import { objectType, splitPermission } from '#shared/access/policy/permissions.ts';
import { runCooperatively } from '#shared/concurrency/cooperative.ts';
import type { Caller } from '#shared/core/caller.ts';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { quote } from '#shared/core/quote.ts';
import { type Issue, invalid } from '#shared/core/schema/issues.ts';
import { receiptFault } from '#shared/datasources/types/receipts.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { DataQuery } from '#shared/entities/tables/data-query.ts';
import { TenantVariable } from '#shared/entities/tables/tenant-variable.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { WorkflowVersion } from '#shared/entities/tables/workflow-version.ts';
import {
  type Graph as CompiledGraph,
  compileGraph,
  type WorkflowEdge,
  type WorkflowNode,
} from '#shared/workflow/graph/graph.ts';
import { usesVariables } from '#shared/workflow/graph/variable-uses.ts';
import { findNodeKind } from '#shared/workflow/nodes/index.ts';
import { assetWords, type NamedAsset, type NamedResource, namedAssets } from '#shared/workflow/nodes/named-assets.ts';
import { WorkflowOptions } from '#shared/workflow/options.ts';
import type { Access } from '../http/route/input.ts';
import { codeIssues } from './check-code.ts';

export interface Graph {
  nodes: WorkflowNode[];
  edges: WorkflowEdge[];
  options: WorkflowOptions;
}

/** The permissions that saving or testing a graph needs beside the route's own. Ids that come from a template are checked when it runs. */
export function authorAccess(
  nodes: readonly WorkflowNode[] = [],
  options: Partial<WorkflowOptions> | null = {},
): Access[] {
  const usesVars = usesVariables(nodes) || options?.completionWebhook !== undefined;
  const handlerID = options?.onFailure?.workflowID;
  return [
    ...accessTo(assetsIn(nodes)),
    ...needsOf(nodes),
    ...(handlerID ? [{ permission: 'workflow.execute', object: `workflow:${handlerID}` } as const] : []),
    ...(usesVars ? [{ permission: 'variable.use', object: 'variable:*' } as const] : []),
  ];
}

function needsOf(nodes: readonly WorkflowNode[]): Access[] {
  const needed = new Set(nodes.flatMap(({ type }) => findNodeKind(type)?.authorNeeds ?? []));
  return [...needed].map((permission) => ({ permission, object: `${objectType(splitPermission(permission)[0])}:*` }));
}

/** The permissions to use these assets, each once. */
export function accessTo(assets: readonly NamedAsset[]): Access[] {
  const demands = new Map<string, Access>();
  for (const { permission, type, id } of assets) {
    const object = `${type}:${id}`;
    demands.set(`${permission} ${object}`, { permission, object });
  }
  return [...demands.values()];
}

/** The permissions that a caller needs to start a run of a saved graph, beside the route's own. */
export function callerAccess(nodes: readonly WorkflowNode[]): Access[] {
  return accessTo(assetsIn(nodes).filter(({ neededBy }) => neededBy === 'caller'));
}

/**
 * Compiles a graph. Rejects one that could not run, or that names an asset the tenant does not have. `self` is the workflow it
 * belongs to.
 */
export async function checkGraph(
  em: EntityManager,
  { nodes, edges }: Pick<Graph, 'nodes' | 'edges'>,
  self?: string,
): Promise<CompiledGraph> {
  const graph = await runCooperatively(compileGraph(nodes, edges));
  const unparsed = await runCooperatively(codeIssues(graph));
  if (unparsed.length > 0) throw invalid(unparsed);

  const { missing, unable } = await findAssetFaults(em, nodes, self);
  if (missing.length + unable.length > 0) throw invalid([...missing, ...unable]);
  return graph;
}

/** The assets that nodes name and the tenant does not have, and queries that cannot do what their nodes ask for. */
export async function findAssetFaults(
  em: EntityManager,
  nodes: readonly WorkflowNode[],
  self?: string,
): Promise<Record<'missing' | 'unable', Issue[]>> {
  const assets = assetsIn(nodes);
  const found = await findExisting(em, assets);
  const missing = assets.flatMap(({ id, type, path }) => {
    if (id === self) return [{ path, message: 'a workflow cannot call itself' }];
    return found.has(id) ? [] : [{ path, message: `there is no such ${assetWords[type]}` }];
  });
  return { missing, unable: assets.flatMap((asset) => onceIssues(nodes, asset, found.get(asset.id))) };
}

/**
 * Faults of exactly-once steps whose datasource cannot store a receipt. The datasource may change later: a run checks it
 * again.
 */
function onceIssues(nodes: readonly WorkflowNode[], { path }: AssetInNodes, row: Row | undefined): Issue[] {
  const [, index] = path;
  const { data } = nodes[Number(index)] ?? {};
  if (data?.exactlyOnce !== true || row?.datasourceType === undefined) return [];
  const message = receiptFault(row.datasourceType);
  return message === undefined ? [] : [{ path: ['workflowNodes', Number(index), 'data', 'exactlyOnce'], message }];
}

/**
 * Rejects options whose failure handler cannot be started, or whose webhook names no secret variable. `self` is the
 * workflow that they belong to.
 */
export async function checkOptions(em: EntityManager, options: WorkflowOptions, self?: string): Promise<void> {
  await checkFailureHandler(em, options, self);
  const name = options.completionWebhook?.secret;
  if (name === undefined) return;
  const path = ['workflowOptions', 'completionWebhook', 'secret'];
  if ((await em.count(TenantVariable, { name, secret: { $ne: null } })) === 0)
    throw invalid([{ path, message: `there is no secret variable ${quote(name)}` }]);
}

async function checkFailureHandler(em: EntityManager, options: WorkflowOptions, self?: string): Promise<void> {
  const id = options.onFailure?.workflowID;
  if (id === undefined) return;
  const path = ['workflowOptions', 'onFailure', 'workflowID'];
  if (id === self) throw invalid([{ path, message: 'a workflow cannot handle its own failures' }]);
  if (!(await em.findOne(Workflow, { id }, { fields: ['id'] })))
    throw invalid([{ path, message: 'there is no such workflow' }]);
}

interface Row {
  id: string;
  /** The datasource type of a query. */
  datasourceType?: string;
}

const finders: Record<NamedResource, (em: EntityManager, ids: string[]) => Promise<Row[]>> = {
  dataquery: (em, ids) => em.find(DataQuery, { id: { $in: ids } }, { fields: ['id', 'datasourceType'] }),
  workflow: (em, ids) => em.find(Workflow, { id: { $in: ids } }, { fields: ['id'] }),
};

async function findExisting(em: EntityManager, assets: readonly NamedAsset[]): Promise<ReadonlyMap<string, Row>> {
  const found = new Map<string, Row>();
  for (const [type, ofType] of Map.groupBy(assets, (asset) => asset.type)) {
    const rows = await finders[type](em, [...new Set(ofType.map(({ id }) => id))]);
    for (const row of rows) found.set(row.id, row);
  }
  return found;
}

type AssetInNodes = NamedAsset & { path: (string | number)[] };

/** Assets that the nodes name, with paths inside the body. */
export function assetsIn(nodes: readonly WorkflowNode[]): AssetInNodes[] {
  return nodes.flatMap(({ type, data }, index) => {
    const definition = findNodeKind(type);
    const assets = definition ? namedAssets(definition, data) : [];
    return assets.map((asset) => ({ ...asset, path: ['workflowNodes', index, 'data', ...asset.path] }));
  });
}

interface Owner {
  tenantID: string;
  /** Null for the graph of a test. */
  workflowID: string | null;
  /** The number of a version of a workflow. */
  number?: number;
  caller: Caller;
}

/** The next version of a workflow, or the graph of a test; written with the next flush and never changed. */
export function writeVersion(em: EntityManager, { caller, ...owner }: Owner, graph: Graph): WorkflowVersion {
  const { nodes, edges, options } = graph;
  const version = em.create(WorkflowVersion, {
    ...owner,
    id: newID(),
    creatorID: caller.userID ?? caller.id,
    createdByApiKeyID: caller.type === 'apiKey' ? caller.id : null,
    nodes: nodes.map(asStored),
    edges: edges.map(asStored),
    options: asStored(options),
  });
  em.persist(version);
  return version;
}

export interface Saving {
  workflow: Workflow;
  latest: WorkflowVersion;
  /** The version that is used again if its graph is the same; by default the latest. */
  base?: WorkflowVersion;
  caller: Caller;
  publishes: boolean;
}

/** Writes a graph as the next version, unless the latest one or `base` has the same, and publishes it if asked to. */
export function saveGraph(
  em: EntityManager,
  { workflow, latest, base = latest, caller, publishes }: Saving,
  graph: Graph,
): WorkflowVersion {
  const { tenantID, id: workflowID } = workflow;
  const next = { tenantID, workflowID, number: (latest.number ?? 0) + 1, caller };
  const version = isSameGraph(graphOf(base), graph) ? base : writeVersion(em, next, graph);
  if (publishes) publish(workflow, version, caller);
  return version;
}

/** Makes a version the one that is executed, unless it is that already; written with the next flush. */
export function publish(workflow: Publishable, version: WorkflowVersion, caller: Caller): void {
  if (workflow.versionID === version.id) return;
  workflow.versionID = version.id;
  workflow.workflowOptions = version.options;
  version.publishedAt = new Date();
  version.publishedBy = caller.userID ?? caller.id;
}

type Publishable = Pick<Workflow, 'versionID' | 'workflowOptions'>;

/** Reads and locks a workflow, so that each of two concurrent changes sees the graph of the other. */
export async function lockWorkflow(em: EntityManager, id: string): Promise<Workflow> {
  const workflow = await em.findOne(Workflow, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (!workflow) throw new AppError('NOT_FOUND', 'Workflow not found');
  return workflow;
}

/** The version that was saved last: what an editor shows, published or not. */
export function findLatest(em: EntityManager, workflowID: string): Promise<WorkflowVersion> {
  return em.findOneOrFail(WorkflowVersion, { workflowID }, { orderBy: { number: 'desc' } });
}

/** The value came in a JSON body, so it is JSON, though the schema's type allows more. */
export function asStored(value: WorkflowNode | WorkflowEdge | WorkflowOptions): JsonObject {
  return value as JsonObject;
}

export function graphOf({ nodes, edges, options }: WorkflowVersion): Graph {
  // Safe casts: `writeVersion` has stored them, checked by the schemas of the same names.
  return { nodes: nodes as WorkflowNode[], edges: edges as WorkflowEdge[], options: WorkflowOptions.parse(options) };
}

/** A workflow without nodes may be saved and published; it cannot be executed. */
export function isEmpty({ nodes, edges }: Pick<Graph, 'nodes' | 'edges'>): boolean {
  return nodes.length === 0 && edges.length === 0;
}

/**
 * Whether two graphs are the same. Stops at the first difference, to save time of the event loop before a large graph is
 * written.
 */
function isSameGraph(one: Graph, other: Graph): boolean {
  return isSame(one.options, other.options) && areSame(one.nodes, other.nodes) && areSame(one.edges, other.edges);
}

function areSame(ones: readonly unknown[], others: readonly unknown[]): boolean {
  return ones.length === others.length && ones.every((one, at) => isSame(one, others[at]));
}

/** Compares without regard to the order of keys, which Postgres changes. */
function isSame(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(plain(one), plain(other));
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
