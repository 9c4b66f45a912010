import { runCooperatively } from '../concurrency/cooperative.ts';
import { AppError } from '../core/errors.ts';
import { quote } from '../core/quote.ts';
import { invalidField } from '../core/schema/issues.ts';
import type { Pool } from '../db/pool.ts';
import { compileStored, type Graph, WorkflowEdge, WorkflowNode } from '../workflow/graph/graph.ts';
import { nodeAt } from '../workflow/graph/order.ts';
import { findReuse, leadsPast, outermostOf, type Reuse } from '../workflow/progress/reuse.ts';
import { isTerminal, type RunStatus } from '../workflow/progress/status.ts';
import type { RunError } from '../workflow/run-error.ts';
import { findReused } from './accept-rerun.ts';
import type { RerunFrom } from './batches/job.ts';

export interface RerunSource {
  id: string;
  tenantID: string;
  versionID: string;
  status: RunStatus;
  error?: Pick<RunError, 'nodeID'> | null | undefined;
}

interface Beginning {
  versionID: string;
  from: RerunFrom;
}

/** Plans which results of a run a re-run reuses. Throws if the re-run cannot begin at `from`. */
export async function planRerun(pool: Pool, source: RerunSource, { versionID, from }: Beginning): Promise<Reuse> {
  if (from === 'start') return { reusable: [], changed: [] };
  if (!isTerminal(source.status))
    throw new AppError('CONFLICT', 'The run has not ended: stop it first, or re-run it from its start');
  if (from === 'failed' && source.status === 'COMPLETED')
    throw new AppError('CONFLICT', 'The run has not failed: re-run it from its start, or from a node');
  const { tenantID } = source;
  const graph = await readGraph(pool, tenantID, versionID);
  const repeatedNodes = from === 'failed' ? failedNode(graph, source) : [namedNode(graph, from)];
  const sourceGraph = source.versionID === versionID ? graph : await readGraph(pool, tenantID, source.versionID);
  const reuse = findReuse(sourceGraph, graph, repeatedNodes);
  if (typeof from === 'object') await requireReached(pool, source, { graph, nodeID: from.nodeID, reuse });
  return reuse;
}

interface Reached {
  graph: Graph;
  nodeID: string;
  reuse: Reuse;
}

/** Refuses to begin at a node that the reused results branch away from: it would never be executed. */
async function requireReached(pool: Pool, { id }: RerunSource, { graph, nodeID, reuse }: Reached): Promise<void> {
  const { rows } = await pool.query<{ node_id: string; exit: string | null }>(TAKEN_EXITS, [id, reuse.reusable]);
  const taken = rows.map(({ node_id, exit }) => [node_id, exit] as const);
  if (leadsPast(graph, taken, nodeID))
    throw invalidField(
      'from.nodeID',
      `the branches of the run lead past ${quote(nodeID)}: expected a node before it that decides so`,
    );
}

const TAKEN_EXITS = `
select node_id, exit from run_event
where instance_id = $1 and node_id = any($2::text[]) and frame is null
  and (status in ('SUCCESS', 'SKIPPED') or status = 'FAILED' and exit is not null) order by seq`;

interface RerunPreview {
  reused: string[];
  changed: string[];
  executed: string[];
}

/** Previews the nodes that a re-run would reuse, and those that it may execute if its branches lead there. Throws as the re-run itself would. */
export async function previewRerun(pool: Pool, source: RerunSource, beginning: Beginning): Promise<RerunPreview> {
  const { reusable, changed } = await planRerun(pool, source, beginning);
  const { tenantID, id } = source;
  const reused = await findReused(pool, { tenantID, rerunOf: id, reusable });
  const graph = await readGraph(pool, tenantID, beginning.versionID);
  const nodes = (graph.regions[0]?.nodes ?? []).map((index) => nodeAt(graph, index).id);
  return { reused, changed, executed: nodes.filter((nodeID) => !reused.includes(nodeID)) };
}

/** The node at which a run has failed. None if it was cancelled or timed out: then all nodes that had not ended are executed. */
function failedNode(graph: Graph, { error }: RerunSource): string[] {
  const node = error?.nodeID ? outermostOf(graph, error.nodeID) : undefined;
  return node ? [node.id] : [];
}

function namedNode(graph: Graph, { nodeID, frame = [] }: Exclude<RerunFrom, string>): string {
  const node = outermostOf(graph, nodeID);
  if (!node) throw invalidField('from.nodeID', `this version has no node ${quote(nodeID)}`);
  if (node.id !== nodeID)
    throw invalidField(
      'from.nodeID',
      `node ${quote(nodeID)} lies in the body of ${quote(node.id)}: expected that node, which is executed again as a whole`,
    );
  if (frame.length > 0)
    throw invalidField('from.frame', 'single iterations cannot be executed again: expected no frame');
  return nodeID;
}

async function readGraph(pool: Pool, tenantID: string, versionID: string): Promise<Graph> {
  const { rows } = await pool.query<{ nodes: unknown; edges: unknown }>(
    'select nodes, edges from workflow_version where id = $1 and tenant_id = $2',
    [versionID, tenantID],
  );
  if (!rows[0]) throw new AppError('CONFLICT', 'The version of this run is no longer kept');
  const { nodes, edges } = rows[0];
  return runCooperatively(compileStored(WorkflowNode.array().parse(nodes), WorkflowEdge.array().parse(edges)));
}
