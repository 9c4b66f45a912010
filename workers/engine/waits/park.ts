import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { WorkerConfig } from '#shared/process/config.ts';
import { resolveInputs } from '#shared/workflow/inputs.ts';
import { runTimeoutMs, WorkflowOptions } from '#shared/workflow/options.ts';
import type { Activation } from '#shared/workflow/progress/progress.ts';
import type { Park } from '../../nodes/executor.ts';
import { noSuchAsset } from '../state/asset-rights.ts';
import type { PendingChild } from '../state/pending-commit.ts';
import type { Outcome, Run } from '../state/run.ts';
import type { Wait } from '../state/waits.ts';
import { nextMoment } from './reminders.ts';

interface Parking {
  pool: Pool;
  config: Pick<WorkerConfig, 'nodeOutputMaxBytes'>;
}

/** All parks but those of nodes that repeat their body, here or in chunks. */
export type OwnPark = Exclude<Park, { park: 'iterations' | 'chunks' }>;

/**
 * The changes of the next commit that let a node wait: the event for clients, the wait, and what is waited for: a run of a sub-workflow,
 * a question or a map.
 */
export interface Parked {
  event: Outcome;
  wait: Wait;
}

/** Prepares the wait of a node. A node that waits for a sub-workflow starts it in the same commit; throws if that cannot be started. */
export async function parkNode(
  { pool, config }: Parking,
  run: Run,
  activation: Activation,
  park: OwnPark,
): Promise<Parked> {
  if (park.park === 'time') {
    const dueAt = new Date(Date.now() + park.ms).toISOString();
    return { event: suspended({ wait: 'time', dueAt }), wait: { kind: 'time', purpose: 'park', ms: park.ms } };
  }
  const ref = newID();
  if (park.park === 'event') {
    const { name, key, lookbackMs, expiresInMs } = park;
    return {
      event: suspended({ wait: 'event', event: { name, key }, ...untilOf(expiresInMs) }),
      wait: { kind: 'event', purpose: 'park', ms: expiresInMs, ref, awaited: { name, key, lookbackMs } },
    };
  }
  if (park.park === 'input') {
    const { request: config, expiresInMs } = park;
    const question = { collectionRequestID: ref, collectionType: typeOf(config), collectionConfig: config };
    const request = { id: ref, activation, config, expiresInMs };
    return {
      event: suspended({ wait: 'input', request: question }),
      wait: {
        kind: 'input',
        purpose: 'park',
        ms: nextMoment({ config, askedMs: 0, expiresInMs }).inMs,
        expiresInMs,
        ref,
        request,
      },
    };
  }
  const child = await prepareChild(pool, run, activation, { ...park, id: ref });
  refuseLarge(child.input, config.nodeOutputMaxBytes);
  return {
    event: suspended({ wait: 'child', childInstanceID: ref }),
    wait: { kind: 'child', purpose: 'park', ms: null, ref, child },
  };
}

function untilOf(ms: number | null): { dueAt?: string } {
  return ms === null ? {} : { dueAt: new Date(Date.now() + ms).toISOString() };
}

/** The type of a question, as the commit stores it. */
function typeOf({ collectionType }: JsonObject): string {
  return typeof collectionType === 'string' ? collectionType : 'form';
}

function suspended(payload: object): Outcome {
  return { status: 'SUSPENDED', exit: null, payload: JSON.stringify(payload) };
}

interface ChildRow {
  version_id: string | null;
  workflow_options: unknown;
  is_disabled: boolean;
}

async function prepareChild(
  pool: Pool,
  run: Run,
  activation: Activation,
  { id, workflowID, input, maxDepth }: Extract<Park, { park: 'child' }> & { id: string },
): Promise<PendingChild> {
  if (workflowID === run.workflowID) throw subWorkflowError('A workflow cannot call itself');
  await refuseCycle(pool, run, workflowID);
  if (run.depth + 1 > maxDepth) throw subWorkflowError(`Sub-workflows are nested deeper than ${maxDepth} levels`);
  const { rows } = await pool.query<ChildRow>(
    'select version_id, workflow_options, is_disabled from workflow where id = $1 and tenant_id = $2',
    [workflowID, run.tenantID],
  );
  const child = rows[0];
  if (!child) throw noSuchAsset({ type: 'workflow', permission: 'workflow.execute' });
  if (child.is_disabled) throw subWorkflowError('The sub-workflow is disabled');
  if (child.version_id === null) throw subWorkflowError('The sub-workflow has drafts only: publish a version of it');
  const options = WorkflowOptions.parse(child.workflow_options);
  const childInput = resolveInputs(options.inputDefinitions, input, { field: 'inputMapping' });
  return {
    id,
    workflowID,
    versionID: child.version_id,
    nodeID: activation.node.id,
    input: childInput,
    governance: options,
    timeoutMs: runTimeoutMs(options),
  };
}

/** Refuses a sub-workflow that is already running around this run. Otherwise a cycle would repeat its work at each level, up to the limit. */
async function refuseCycle(pool: Pool, { id, parentID }: Run, workflowID: string): Promise<void> {
  if (parentID === null) return;
  const { rows } = await pool.query<{ id: string; title: string | null }>(CALLING, [id]);
  const first = rows.findIndex((calling) => calling.id === workflowID);
  if (first === -1) return;
  const titles = [...rows.slice(first), ...rows.slice(first, first + 1)].map(({ title }) => `"${title ?? ''}"`);
  throw subWorkflowError(`The workflows call each other in a cycle: ${titles.join(' → ')}`);
}

// From the outermost run inwards. Chunks of a map are runs of the same workflow as their parent.
const CALLING = `
with recursive line as (
  select id, parent_id, workflow_id, 0 as n from workflow_instance where id = $1
  union all
  select p.id, p.parent_id, p.workflow_id, line.n + 1 from line join workflow_instance p on p.id = line.parent_id
)
select line.workflow_id as id, w.title, max(line.n) as n from line join workflow w on w.id = line.workflow_id
group by line.workflow_id, w.title order by n desc`;

function refuseLarge(input: JsonObject, maxBytes: number): void {
  if (Buffer.byteLength(JSON.stringify(input)) > maxBytes)
    throw subWorkflowError(
      `inputMapping: the inputs are larger than the limit of ${maxBytes} bytes (NODE_OUTPUT_MAX_BYTES)`,
    );
}

function subWorkflowError(message: string): AppError {
  return new AppError('NODE_FAILED', message, { retry: false });
}
