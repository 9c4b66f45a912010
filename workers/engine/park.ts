import type { Pool } from '#shared/db/pool.ts';
import { AppError } from '#shared/errors.ts';
import { newID } from '#shared/ids.ts';
import type { GraphNode } from '#shared/workflow/graph.ts';
import { resolveInputs } from '#shared/workflow/inputs.ts';
import { runTimeoutMs, WorkflowOptions } from '#shared/workflow/options.ts';
import type { Park } from '../nodes/executor.ts';
import { noSuchAsset } from './asset-rights.ts';
import type { HeldRun } from './held-run.ts';

export interface ParkDependencies {
  pool: Pool;
}

interface Parked {
  event: { status: 'SUSPENDED'; exit: null; payload: string };
  waiting: { kind: 'time' | 'child' | 'input'; purpose: 'park'; ms: number | null; ref?: string };
}

/** Turns a park into changes for the next commit: the event for clients, the wait, and its child or request for input. */
export async function parkNode(deps: ParkDependencies, run: HeldRun, node: GraphNode, park: Park): Promise<Parked> {
  if (park.park === 'time') {
    const dueAt = new Date(Date.now() + park.ms).toISOString();
    return { event: suspended({ wait: 'time', dueAt }), waiting: { kind: 'time', purpose: 'park', ms: park.ms } };
  }
  const ref = newID();
  if (park.park === 'input') {
    run.step.requests.push({
      id: ref,
      nodeID: node.id,
      iteration: 0,
      config: park.request,
      expiresInMs: park.expiresInMs,
    });
    const request = { collectionRequestID: ref, collectionType: 'form', collectionConfig: park.request };
    return {
      event: suspended({ wait: 'input', request }),
      waiting: { kind: 'input', purpose: 'park', ms: park.expiresInMs, ref },
    };
  }
  await addChild(deps, run, node, { ...park, id: ref });
  return {
    event: suspended({ wait: 'child', childInstanceID: ref }),
    waiting: { kind: 'child', purpose: 'park', ms: null, ref },
  };
}

function suspended(payload: object): Parked['event'] {
  return { status: 'SUSPENDED', exit: null, payload: JSON.stringify(payload) };
}

async function addChild(
  { pool }: ParkDependencies,
  run: HeldRun,
  node: GraphNode,
  { id, workflowID, input, maxDepth, timeoutMs }: Extract<Park, { park: 'child' }> & { id: string },
): Promise<void> {
  if (workflowID === run.workflowID) throw subWorkflowError('A workflow cannot call itself');
  if (run.depth + 1 > maxDepth) throw subWorkflowError(`Sub-workflows are nested deeper than ${maxDepth} levels`);
  const { rows } = await pool.query<{ version_id: string; workflow_options: unknown }>(
    'select version_id, workflow_options from workflow where id = $1 and tenant_id = $2',
    [workflowID, run.tenantID],
  );
  const child = rows[0];
  if (!child) throw noSuchAsset({ type: 'workflow', permission: 'workflow.execute' });
  const options = WorkflowOptions.parse(child.workflow_options);
  run.step.children.push({
    id,
    workflowID,
    versionID: child.version_id,
    nodeID: node.id,
    input: resolveInputs(options.inputDefinitions, input, { field: 'inputMapping' }),
    timeoutMs: Math.min(runTimeoutMs(options), timeoutMs),
  });
}

function subWorkflowError(message: string): AppError {
  return new AppError('NODE_FAILED', message, { retry: false });
}
