import type { Rights } from '#shared/access/policy/rights.ts';
import { retryUntilAvailable } from '#shared/concurrency/retry-until-available.ts';
import { writeLargeParts } from '#shared/concurrency/write-json.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import { StoreAway } from '#shared/db/unavailable-store.ts';
import type { WorkerConfig } from '#shared/process/config.ts';
import type { GraphNode } from '#shared/workflow/graph/graph.ts';
import { namedAssets } from '#shared/workflow/nodes/named-assets.ts';
import { withTimeToAnswer } from '#shared/workflow/options.ts';
import type { Activation } from '#shared/workflow/progress/progress.ts';
import { resolveConfig } from '#shared/workflow/resolve-config.ts';
import { RefusedWrite } from '../../connections/refused-write.ts';
import { maskIn } from '../../datasources/http/status.ts';
import type { NodeContext, Park, WaitResult } from '../../nodes/executor.ts';
import { executorOf } from '../../nodes/index.ts';
import { parkMap } from '../maps/begin-map.ts';
import { readMapResults } from '../maps/map-results.ts';
import type { Maps } from '../maps/maps.ts';
import { checkAssets } from '../state/asset-rights.ts';
import { readIterations } from '../state/iterations.ts';
import type { Run } from '../state/run.ts';
import { rootsOf, variablesOf, withLinks } from '../values/node-variables.ts';
import { readScope, readScopeOfBody, residentScope } from '../values/read-values.ts';
import type { ResidentValues } from '../values/resident-values.ts';
import { parkNode } from '../waits/park.ts';
import type { NodeResult } from './node-result.ts';
import { type AttemptTask, createTask } from './task.ts';

/** Parts of the process that attempts use. */
export interface Process {
  pool: Pool;
  rights: Rights;
  nodes: NodeContext;
  maps: Pick<Maps, 'stop'>;
  values: ResidentValues;
  config: WorkerConfig;
  logger: Logger;
}

interface Attempt {
  activation: Activation;
  waitResult: WaitResult | undefined;
}

/** The result of an activation that is disabled or pinned; undefined if it is to be executed. */
export function withoutExecution(run: Run, activation: Activation): NodeResult | undefined {
  if (activation.node.isDisabled) return { kind: 'skipped' };
  const pin = isRootOfChunk(run, activation) ? undefined : run.pinOf(activation);
  return pin && { kind: 'pinned', pin };
}

/** Whether the run is a chunk of a map and the activation is the map node, at which the chunk begins and ends. */
function isRootOfChunk({ chunk }: Run, { path }: Activation): boolean {
  return chunk !== null && path.length === 0;
}

/** Executes a pure activation. It needs no slot, because it neither waits nor does I/O. */
export function computeNode({ nodes, logger }: Process, run: Run, activation: Activation): NodeResult {
  const { node } = activation;
  const task = createTask(run, activation, undefined, logger);
  let resolved: unknown;
  try {
    if (run.state.hasOffloaded) task.scope = residentScope(run, activation);
    resolved = resolveConfig(node, task.scope);
    const result = executorOf(node.definition)(task.with(resolved), nodes);
    if (result instanceof Promise) throw new Error(`A pure node of the kind ${node.definition.kind} took time`);
    return { kind: 'done', task, resolved, ...result };
  } catch (error) {
    return { kind: 'failed', resolved, error: task.explain(error) };
  }
}

/** Executes an activation: reads the values that its node uses, and calls the node's executor. Null: the run was over meanwhile. */
export function executeNode(process: Process, run: Run, attempt: Attempt): Promise<NodeResult | null> {
  return isRootOfChunk(run, attempt.activation)
    ? endChunk(process, run, attempt.activation)
    : executeAttempt(process, run, attempt);
}

async function executeAttempt(
  process: Process,
  run: Run,
  { activation, waitResult }: Attempt,
): Promise<NodeResult | null> {
  const { node } = activation;
  const task = createTask(run, activation, waitResult, process.logger);
  let resolved: unknown;
  try {
    // Statements that Postgres did not answer are repeated for as long as it is away: the node has had no effect yet.
    const waiting = task.waiting({});
    const goesOn = waitResult !== undefined || run.state.repetitionOf(activation) !== undefined;
    const filling = fillConfig(process, run, { activation, task });
    const config = goesOn ? await filling.catch((error) => withoutFilling(node, error)) : await filling;
    resolved = withTimeToAnswer(node, run.version.options, config);
    task.waitResult = await retryUntilAvailable(() => waitResultFor(process, run, activation, waitResult), waiting);
    // A node that continues after its wait was checked before it parked.
    const assets = task.waitResult ? [] : namedAssets(node.definition, resolved);
    if (assets.length > 0) await retryUntilAvailable(() => checkAssets(process.rights, run, { node, assets }), waiting);
    const whileExecuting = task.waiting({
      isUnavailable: (error) => error instanceof StoreAway,
      // The time limit is for the work of the node, not for the wait until Postgres is back.
      onUnavailable: () => task.stopClock(),
    });
    const result = await retryUntilAvailable(() => executeClocked(process, task.with(resolved), node), whileExecuting);
    if (run.isOver) return null;
    if (!('park' in result)) {
      await writeLargeParts(result.output);
      return run.isOver ? null : { kind: 'done', task, resolved, ...result };
    }
    if (result.park === 'iterations') {
      const { park: _, ...repeat } = result;
      return { kind: 'repeats', task, resolved, repeat };
    }
    if (result.park === 'chunks') return await beginMap(process, run, { activation, map: result, task });
    const parked = await retryUntilAvailable(() => parkNode(process, run, activation, result), waiting);
    return { kind: 'parks', parked };
  } catch (error) {
    const byItems = waitResult?.kind === 'chunks' && waitResult.outcome === 'failed';
    return run.isOver ? null : resultOfError(task, { resolved, byItems }, error);
  } finally {
    task.stopClock();
  }
}

/** Reads what the templates of a node insert, and fills them in. */
async function fillConfig(
  process: Process,
  run: Run,
  { activation, task }: { activation: Activation; task: AttemptTask },
): Promise<unknown> {
  const { node } = activation;
  if (node.variables) task.variables = await readVariables(process, run, { node, task });
  task.variables = withLinks(task.variables, activation, { run, links: process.nodes.formLinks });
  if (run.state.hasOffloaded) task.scope = await readScope(process, run, { activation, waiting: task.waiting({}) });
  return resolveConfig(node, task.scope, rootsOf(task.variables));
}

/**
 * The saved config of a node that continues after its wait, if its templates cannot be filled any more. A variable that was deleted meanwhile, or
 * a value of another branch, must not undo the wait result.
 */
function withoutFilling(node: GraphNode, error: unknown): unknown {
  if (error instanceof AppError && error.code === 'VALIDATION_ERROR') return node.config;
  throw error;
}

async function readVariables({ nodes }: Process, run: Run, { node, task }: { node: GraphNode; task: AttemptTask }) {
  const names = (node.variables?.named ?? []).map(({ name }) => name);
  const isUnavailable = (error: unknown) => error instanceof StoreAway;
  const variables = await retryUntilAvailable(
    () => nodes.variables.read(run.tenantID, names),
    task.waiting({ isUnavailable }),
  );
  return variablesOf(node, variables);
}

/** The result of an attempt that threw: it failed, or a dry run has refused its write. */
function resultOfError(
  task: AttemptTask,
  { resolved, byItems }: { resolved: unknown; byItems: boolean },
  error: unknown,
): NodeResult {
  if (!(error instanceof RefusedWrite)) return { kind: 'failed', resolved, error: task.explain(error), byItems };
  return { kind: 'write refused', resolved, write: maskIn(error.write, task.variables.secrets) };
}

function executeClocked({ nodes }: Process, task: AttemptTask, { definition }: GraphNode) {
  if (definition.clocked) task.startClock();
  return Promise.resolve(executorOf(definition)(task, nodes));
}

interface MapToBegin {
  activation: Activation;
  map: Extract<Park, { park: 'chunks' }>;
  task: AttemptTask;
}

/** Begins a map, whose items are processed in chunks. Without items or a body, the node continues at once with no results. */
async function beginMap(process: Process, run: Run, { activation, map, task }: MapToBegin): Promise<NodeResult | null> {
  const { park: _, ...plan } = map;
  if (map.items.length === 0 || activation.node.body === null) {
    const waitResult: WaitResult = { kind: 'iterations', results: [], total: map.items.length, failed: 0 };
    return executeAttempt(process, run, { activation, waitResult });
  }
  const scope = await readScopeOfBody(process, run, { activation, waiting: task.waiting({}) });
  return { kind: 'parks', parked: parkMap(process.config, run, activation, { ...plan, scope }) };
}

/** The wait result of a node, with the results of its iterations or its chunks. Throws if they have failed. */
async function waitResultFor(
  process: Process,
  run: Run,
  activation: Activation,
  waitResult: WaitResult | undefined,
): Promise<WaitResult | undefined> {
  if (run.state.repetitionOf(activation)) return readIterations(process.pool, run, activation);
  if (waitResult?.kind !== 'chunks') return waitResult;
  if (waitResult.outcome !== 'done') await process.maps.stop(waitResult.mapID);
  return readMapResults(process.pool, waitResult, { graph: run.version.graph, node: activation.node });
}

/** Ends a chunk whose items have ended. */
async function endChunk(process: Process, run: Run, activation: Activation): Promise<NodeResult | null> {
  const task = createTask(run, activation, undefined, process.logger);
  try {
    const items = await retryUntilAvailable(() => readIterations(process.pool, run, activation), task.waiting({}));
    return { kind: 'chunk done', items, task };
  } catch (error) {
    return run.isOver ? null : { kind: 'chunk failed', error: task.explain(error) };
  }
}
