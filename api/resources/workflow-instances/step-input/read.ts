import type { z } from 'zod';
import { runCooperatively } from '#shared/concurrency/cooperative.ts';
import { AppError } from '#shared/core/errors.ts';
import { quote } from '#shared/core/quote.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import { type CheckedNode, checkNode } from '#shared/workflow/graph/check-node.ts';
import type { WorkflowEdge, WorkflowNode } from '#shared/workflow/graph/graph.ts';
import { templatesOf } from '#shared/workflow/graph/variable-uses.ts';
import { isPure } from '#shared/workflow/nodes/properties.ts';
import { expressionsOf } from '#shared/workflow/templates/expressions.ts';
import { tenantRoute } from '../../../context/routes.ts';
import { isAllowed } from '../../../http/access/grant.ts';
import { findReadableRun } from '../../../runs/find-run.ts';
import { fillSettings } from './fill-settings.ts';
import { StepInput, StepInputQuery, StepOfInstance } from './schemas.ts';
import { MAX_SHOWN, readStepContext, type StepContext } from './step-context.ts';
import { type Attempt, findAttempt } from './step-events.ts';

export const readStepInput = tenantRoute({
  name: 'getWorkflowStepInput',
  method: 'get',
  path: '/workflows/instances/:instanceID/nodes/:nodeID/input',
  summary: 'Get the input of a step',
  description:
    'Returns what a node of a run was given: its settings with their templates filled, and `ctx` as an attempt of it began. Both are computed from the events of the run, as the engine computes them, and executing nothing. Results of parallel branches that ended while it began may be missing. The answer has at most 2 MB of values for each; what is left out is named. A caller who may execute the workflow may read the `ctx` of runs they started.',
  permission: 'workflow.read',
  filter: true,
  alternative: 'workflow.execute',
  params: StepOfInstance,
  query: StepInputQuery,
  response: StepInput,
  errors: ['404'],

  async handle({ params: { instanceID, nodeID }, query, em, require, caller }, { pool }) {
    const run = await findReadableRun({ em, require, caller }, instanceID, { without: ['output'] });
    const attempt = await findAttempt(pool, run.id, { nodeID, ...query });
    if (!attempt) throw new AppError('NOT_FOUND', `The run has not reached ${wordsOf(nodeID, query)}`);
    const { nodes, sources } = await readGraph(pool, run);
    const node = nodes.get(nodeID);
    const context = await readStepContext(pool, run, {
      frame: attempt.frame,
      until: lastBefore(attempt, node),
      nodeID,
      nodes,
      sources,
      wanted: keysOf(node),
    });
    const mayReadSettings = await isAllowed(
      { require },
      { permission: 'workflow.read', object: `workflow:${run.workflowID ?? '*'}` },
    );
    return {
      instanceID: run.id,
      nodeID,
      ...presentAttempt(attempt),
      settings: mayReadSettings && node ? presentSettings(node, context) : null,
      ctx: context.shown,
      omitted: context.omitted,
      mayLackKeys: context.mayLackKeys,
    };
  },
});

function wordsOf(nodeID: string, { iterations, attempt }: z.output<typeof StepInputQuery>): string {
  const parts = [
    ...(attempt === undefined ? [] : [`attempt ${attempt} of`]),
    `the node ${quote(nodeID)}`,
    ...(iterations ? [`in iteration ${iterations.join('.')}`] : []),
  ];
  return parts.join(' ');
}

/** Reads the version that the run executes: its nodes, and the sources of the edges into each. */
async function readGraph(
  pool: Pool,
  { versionID, tenantID }: Pick<WorkflowInstance, 'versionID' | 'tenantID'>,
): Promise<{ nodes: Map<string, CheckedNode>; sources: Map<string, string[]> }> {
  const { rows } = await pool.query<{ nodes: WorkflowNode[]; edges: WorkflowEdge[] }>(
    'select nodes, edges from workflow_version where id = $1 and tenant_id = $2',
    [versionID, tenantID],
  );
  const nodes = new Map<string, CheckedNode>();
  for (const node of rows[0]?.nodes ?? [])
    nodes.set(node.id, await runCooperatively(checkNode({ ...node, data: node.data ?? {} })));
  const into = Map.groupBy(rows[0]?.edges ?? [], ({ target }) => target);
  const sources = new Map([...into].map(([target, edges]) => [target, edges.map(({ source }) => source)]));
  return { nodes, sources };
}

/**
 * The last event whose output an attempt saw. A pure node is computed in the commit of its outcome, so it sees what other branches have
 * set until then; another node sees what was set before its first event.
 */
function lastBefore({ began, last, status }: Attempt, node: CheckedNode | undefined): number {
  const isComputed = node?.definition !== undefined && isPure(node.definition, node.config) && status !== 'RUNNING';
  return (isComputed ? last : began) - 1;
}

/** The keys of `ctx` that the templates of a node name. */
function keysOf(node: CheckedNode | undefined): ReadonlySet<string> {
  const keys = new Set<string>();
  if (!node?.definition) return keys;
  for (const { template } of templatesOf(node.definition, node.data))
    for (const { root, keys: path } of expressionsOf(template))
      if (root === 'ctx' && path[0] !== undefined) keys.add(String(path[0]));
  return keys;
}

function presentAttempt({ frame, attempt, status, at, reusedFrom, isPinned }: Attempt) {
  return {
    frame,
    attempt,
    status,
    startedAt: at.toISOString(),
    ...(reusedFrom !== null && { reusedFrom }),
    ...(isPinned && { isPinned }),
  };
}

function presentSettings(node: CheckedNode, context: StepContext): z.input<typeof StepInput>['settings'] {
  if (!node.definition) return null;
  const { settings, doubts } = fillSettings(node.definition, node.data, { ...context, maxLength: MAX_SHOWN });
  return { values: settings, inDoubt: doubts };
}
