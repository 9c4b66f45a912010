import type { Rights } from '#shared/access/policy/rights.ts';
import { retryUntilAvailable } from '#shared/concurrency/retry-until-available.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import { StoreAway } from '#shared/db/unavailable-store.ts';
import type { WorkerConfig } from '#shared/process/config.ts';
import type { GraphNode } from '#shared/workflow/graph/graph.ts';
import { namedAssets } from '#shared/workflow/nodes/named-assets.ts';
import { withTimeToAnswer } from '#shared/workflow/options.ts';
import type { Activation } from '#shared/workflow/progress/progress.ts';
import { resolveConfig } from '#shared/workflow/resolve-arguments.ts';
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
import { readScope, readScopeOfBody } from '../values/read-values.ts';
import type { ResidentValues } from '../values/resident-values.ts';
import { type OwnPark, parkNode } from '../waits/park.ts';
import { type Conclusion, failActivation, passWrite, repeatBody, succeed } from './conclude.ts';
import { completeChunk, failChunk } from './conclude-chunk.ts';
import { type AttemptTask, createTask } from './task.ts';

export interface Attempting {
  run: Run;
  activation: Activation;
  waitResult: WaitResult | undefined;
  /**
   * Goes on after the attempt. Called in the turn that has recorded the outcome: with neither a running activation nor a wait, the run would
   * look as if it could rest.
   */
  proceed(conclusion: Conclusion): void;
}

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

/** Executes an activation: reads what its node needs, and calls the executor. */
export async function attempt(process: Process, { run, activation, waitResult, proceed }: Attempting): Promise<void> {
  const { node } = activation;
  const task = createTask(run, activation, waitResult, process.logger);
  let resolved: unknown;
  try {
    // A statement that Postgres did not answer is repeated, for as long as it is away: nothing has happened yet.
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
      // The node's time is for its own work.
      onUnavailable: () => task.stopClock(),
    });
    const result = await retryUntilAvailable(() => executeClocked(process, task.with(resolved), node), whileExecuting);
    if (run.isOver) return;
    if (!('park' in result)) proceed(succeed(process.config, run, activation, { resolved, ...result }));
    else if (result.park === 'iterations') {
      const { park: _, ...repeat } = result;
      proceed(repeatBody(process.config, run, activation, repeat));
    } else if (result.park === 'chunks')
      await beginMap(process, { run, activation, waitResult, proceed }, { map: result, task });
    else await retryUntilAvailable(() => park(process, { run, activation, waitResult, proceed }, result), waiting);
  } catch (error) {
    if (!run.isOver) proceed(concludeError(run, activation, { task, resolved, error }));
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

/** The result that a node waited for has come: a variable that is gone by then, or a value of another branch, does not undo it. */
function withoutFilling(node: GraphNode, error: unknown): unknown {
  if (error instanceof AppError && error.code === 'VALIDATION_ERROR') return node.config;
  throw error;
}

async function readVariables({ nodes }: Process, run: Run, { node, task }: { node: GraphNode; task: AttemptTask }) {
  const names = (node.variables?.named ?? []).map(({ name }) => name);
  const isUnavailable = (error: unknown) => error instanceof StoreAway;
  const all = await retryUntilAvailable(
    () => nodes.variables.read(run.tenantID, names),
    task.waiting({ isUnavailable }),
  );
  return variablesOf(node, all);
}

interface Failed {
  task: AttemptTask;
  resolved: unknown;
  error: unknown;
}

/** The conclusion of an attempt that threw: it failed, or a dry run has refused its write. */
function concludeError(run: Run, activation: Activation, { task, resolved, error }: Failed): Conclusion {
  if (!(error instanceof RefusedWrite))
    return failActivation(run, activation, { resolved, error: task.explain(error) });
  return passWrite(run, activation, { resolved, write: maskIn(error.write, task.variables.secrets) });
}

function executeClocked({ nodes }: Process, task: AttemptTask, { definition }: GraphNode) {
  if (definition.clocked) task.startClock();
  return Promise.resolve(executorOf(definition)(task, nodes));
}

interface MapToBegin {
  map: Extract<Park, { park: 'chunks' }>;
  task: AttemptTask;
}

/** Begins to work off items in chunks, unless there is nothing to do. */
async function beginMap(process: Process, attempting: Attempting, { map, task }: MapToBegin): Promise<void> {
  const { run, activation, proceed } = attempting;
  const { park: _, ...plan } = map;
  if (map.items.length === 0 || activation.node.body === null) {
    const waitResult: WaitResult = { kind: 'iterations', results: [], total: map.items.length, failed: 0 };
    return attempt(process, { ...attempting, waitResult });
  }
  const scope = await readScopeOfBody(process, run, { activation, waiting: task.waiting({}) });
  if (run.isOver) return;
  const parked = parkMap(process.config, run, activation, { ...plan, scope });
  run.record(activation, parked.event);
  proceed({ wait: parked.wait });
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

async function park(process: Process, { run, activation, proceed }: Attempting, request: OwnPark): Promise<void> {
  const parked = await parkNode(process, run, activation, request);
  if (run.isOver) return;
  run.record(activation, parked.event);
  proceed({ wait: parked.wait });
}

/** Ends a chunk whose items have ended. */
export async function endChunk(process: Process, { run, activation, proceed }: Attempting): Promise<void> {
  const task = createTask(run, activation, undefined, process.logger);
  try {
    const waitResult = await retryUntilAvailable(() => readIterations(process.pool, run, activation), task.waiting({}));
    if (!run.isOver) proceed(completeChunk(process.config, run, activation, waitResult));
  } catch (error) {
    if (!run.isOver) proceed(failChunk(run, activation, task.explain(error)));
  }
}
