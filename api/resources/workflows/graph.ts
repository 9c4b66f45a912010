import { isDeepStrictEqual } from 'node:util';
import { DataQuery } from '#shared/db/entities/data-query.ts';
import { Workflow } from '#shared/db/entities/workflow.ts';
import { WorkflowVersion } from '#shared/db/entities/workflow-version.ts';
import type { EntityManager } from '#shared/db/orm.ts';
import { newID } from '#shared/ids.ts';
import type { JsonObject } from '#shared/json.ts';
import { compileGraph, type WorkflowEdge, type WorkflowNode } from '#shared/workflow/graph.ts';
import { invalid } from '#shared/workflow/issues.ts';
import { WorkflowOptions } from '#shared/workflow/options.ts';
import { ID } from '../../http/id.ts';
import type { Access } from '../../http/route.ts';

export interface Graph {
  nodes: WorkflowNode[];
  edges: WorkflowEdge[];
  options: WorkflowOptions;
}

/** What a node names that is executed with it, by kind. */
const bindings = {
  subWorkflow: { field: 'childWorkflowID', permission: 'workflow.execute', type: 'workflow', words: 'workflow' },
  dataQuery: { field: 'dataQueryID', permission: 'dataquery.execute', type: 'dataquery', words: 'data query' },
} as const;

/** What writing or running a graph asks for beside the route's own permission. Ids that come from a template are checked when it runs. */
export function boundAccess(nodes: readonly WorkflowNode[] = []): Access[] {
  const objects = new Map<string, Access>();
  for (const { permission, type, id } of boundIDs(nodes)) {
    const object = `${type}:${id}`;
    objects.set(object, { permission, object });
  }
  return [...objects.values()];
}

/** The same for the workflows alone. */
export function childAccess(nodes: readonly WorkflowNode[]): Access[] {
  return boundAccess(nodes.filter(({ type }) => type === 'subWorkflow'));
}

/** Refuses a graph that could not run, or that names what the tenant has not. `self` is the workflow it belongs to. */
export async function checkGraph(
  em: EntityManager,
  { nodes, edges }: Pick<Graph, 'nodes' | 'edges'>,
  self?: string,
): Promise<void> {
  compileGraph(nodes, edges);

  const bound = boundIDs(nodes);
  if (bound.length === 0) return;
  const found = await findBound(em, bound);
  const issues = bound.flatMap(({ id, path, words }) => {
    if (id === self) return [{ path, message: 'a workflow cannot call itself' }];
    return found.has(id) ? [] : [{ path, message: `there is no such ${words}` }];
  });
  if (issues.length > 0) throw invalid(issues);
}

async function findBound(em: EntityManager, bound: ReturnType<typeof boundIDs>): Promise<ReadonlySet<string>> {
  const idsOf = (wanted: string) => [...new Set(bound.filter(({ type }) => type === wanted).map(({ id }) => id))];
  const workflows = await em.find(Workflow, { id: { $in: idsOf('workflow') } }, { fields: ['id'] });
  const queries = await em.find(DataQuery, { id: { $in: idsOf('dataquery') } }, { fields: ['id'] });
  return new Set([...workflows, ...queries].map(({ id }) => id));
}

function boundIDs(nodes: readonly WorkflowNode[]) {
  return nodes.flatMap(({ type, data }, index) => {
    const binding = Object.hasOwn(bindings, type) ? bindings[type as keyof typeof bindings] : undefined;
    const id = binding && ID.safeParse(data[binding.field]).data;
    return id ? [{ ...binding, id, path: ['workflowNodes', index, 'data', binding.field] }] : [];
  });
}

/** The next version of a workflow, or the graph of a test; written with the next flush and never changed. */
export function writeVersion(em: EntityManager, owner: { tenantID: string; workflowID: string | null }, graph: Graph) {
  const { nodes, edges, options } = graph;
  const version = em.create(WorkflowVersion, {
    ...owner,
    id: newID(),
    nodes: nodes.map(asStored),
    edges: edges.map(asStored),
    options: asStored(options),
  });
  em.persist(version);
  return version;
}

/** What passed the schemas came in a JSON body, so it is JSON also where the types leave more open. */
export function asStored(value: WorkflowNode | WorkflowEdge | WorkflowOptions): JsonObject {
  return value as JsonObject;
}

export function graphOf({ nodes, edges, options }: WorkflowVersion): Graph {
  // Written by `writeVersion`, after the schemas of the same names.
  return { nodes: nodes as WorkflowNode[], edges: edges as WorkflowEdge[], options: WorkflowOptions.parse(options) };
}

/** An unfinished workflow may be saved; it cannot be executed. */
export function isDraft({ nodes, edges }: Pick<Graph, 'nodes' | 'edges'>): boolean {
  return nodes.length === 0 && edges.length === 0;
}

/** Whether both are the same, whatever the order of keys: Postgres keeps its own. */
export function isSameGraph(one: Graph, other: Graph): boolean {
  return isDeepStrictEqual(plain(one), plain(other));
}

function plain(graph: Graph): unknown {
  return JSON.parse(JSON.stringify(graph));
}
