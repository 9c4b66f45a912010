import type { WorkerConfig } from '#shared/config.ts';
import type { Pool } from '#shared/db/pool.ts';
import { AppError } from '#shared/errors.ts';
import type { JsonObject } from '#shared/json.ts';
import type { Lane } from '#shared/lanes.ts';
import type { Logger } from '#shared/logger.ts';
import { namedAssets } from '#shared/nodes/named-assets.ts';
import { exitsOf, usualExitOf } from '#shared/nodes/properties.ts';
import { resolveConfig } from '#shared/workflow/arguments.ts';
import type { Frame } from '#shared/workflow/progress.ts';
import type { Fact, NodeContext, Park } from '../nodes/executor.ts';
import { executorOf } from '../nodes/index.ts';
import { checkAssets } from './asset-rights.ts';
import type { WaitRow } from './facts.ts';
import type { Lease } from './lease.ts';
import { endsTheRun, nullOutput, retriesOf, retryDelay, shownError } from './outcome.ts';
import { outputText } from './outputs.ts';
import { parkNode } from './park.ts';
import type { Restored } from './restore.ts';
import type { Rights } from './rights.ts';
import type { Run, Wait } from './run.ts';
import type { PendingEvent } from './step.ts';
import { createTask } from './task.ts';

/** A held run yields after this much if other runs wait. */
const QUANTUM = { ms: 1000, nodes: 200 };
/** When a question that is not over yet by the database's clock is looked at again. */
const LATER_MS = 500;

/** What the functions below need of the process. They execute ready nodes and fill the run's step; the committer writes it. */
export interface Advance {
  pool: Pool;
  rights: Rights;
  /** Slots for nodes that run in this process; tenants take turns. */
  slots: Lane;
  nodes: NodeContext;
  config: WorkerConfig;
  logger: Logger;
  submit(run: Run): void;
  /** While it is not valid by the clocks of this process, no node starts. */
  lease: Pick<Lease, 'isValid' | 'untilValid'>;
  shouldYield(): boolean;
  /** Reads the run's waits and passes them to `applyWaits`. */
  reread(run: Run): void;
}

/** Begins a run without history. */
export function startRun(advance: Advance, run: Run): void {
  for (const frame of run.state.begin()) {
    run.state.countAttempt(frame);
    execute(advance, run, frame);
  }
}

/** Continues a run that was held before. */
export function resumeRun(advance: Advance, run: Run, { ready, waits }: Restored): void {
  for (const { frame, wait, purpose } of waits)
    run.resume(frame, { kind: wait.kind, purpose, ms: wait.dueInMs }, () => onDue(advance, run, frame));
  launch(advance, run, ready, null);
  for (const { frame, wait } of waits) if (wait.fact) endWait(advance, run, frame, wait.fact);
  run.rest();
  advance.submit(run);
}

/** Continues the nodes of a held run whose waits are over, after its waits were read again. */
export function applyWaits(advance: Advance, run: Run, waits: readonly WaitRow[]): void {
  if (run.isOver) return;
  for (const { nodeID, path, fact } of waits) {
    const frame = run.state.find(nodeID, path);
    if (fact && frame) endWait(advance, run, frame, fact);
  }
  run.rest();
  advance.submit(run);
}

function execute(advance: Advance, run: Run, frame: Frame, fact?: Fact): void {
  const { lease, slots } = advance;
  if (run.isOver) return;
  run.start(frame);
  if (frame.node.isDisabled) return skip(advance, run, frame);
  if (lease.isValid && slots.take(run.turn)) void attempt(advance, run, frame, fact);
  else
    void untilMayStart(advance, run).then(() => {
      if (!run.isOver) return attempt(advance, run, frame, fact);
      slots.leave(run.turn);
    });
}

/** Waits for a slot under a valid lease; the wait for the one may outlast the other. */
async function untilMayStart({ lease, slots }: Advance, { turn }: Run): Promise<void> {
  for (;;) {
    await lease.untilValid();
    if (!slots.take(turn)) await slots.wait(turn);
    if (lease.isValid) return;
    slots.leave(turn);
  }
}

async function attempt(advance: Advance, run: Run, frame: Frame, fact: Fact | undefined): Promise<void> {
  const { node } = frame;
  const task = createTask(run, frame, fact, advance.logger);
  let resolved: unknown;
  try {
    resolved = resolveConfig(node, run.state.scopeOf(frame));
    if (node.definition.clocked) task.startClock();
    // A node that continues after its wait was checked before it parked.
    const assets = fact ? [] : namedAssets(node.definition, resolved);
    if (assets.length > 0) await checkAssets(advance.rights, run, { node, assets });
    const result = await executorOf(node.definition)(task.with(resolved), advance.nodes);
    if (run.isOver) return;
    if ('park' in result) await park(advance, run, frame, result);
    else succeed(advance, run, frame, { resolved, ...result });
  } catch (error) {
    if (!run.isOver) failNode(advance, run, frame, { resolved, error: task.explain(error) });
  } finally {
    task.stopClock();
    advance.slots.leave(run.turn);
  }
}

interface Success {
  resolved: unknown;
  output: JsonObject;
  exit: string | null;
}

function succeed(advance: Advance, run: Run, frame: Frame, { resolved, output, exit }: Success): void {
  const { config } = advance;
  const { node } = frame;
  if (exit !== null && !node.exits.has(exit) && !exitsOf(node.definition, resolved).includes(exit))
    throw new AppError('NODE_FAILED', `The node left by the exit "${exit}", which it does not have`, { retry: false });
  const text = outputText(output, config.nodeOutputMaxBytes);
  if (run.state.outputLength + text.length > config.runOutputMaxBytes)
    throw new AppError(
      'OUTPUT_TOO_LARGE',
      `The outputs of this run are larger than the limit of ${config.runOutputMaxBytes} bytes together`,
    );
  run.state.countOutput(text.length);
  run.state.keep(frame, resolved, output);
  const outcome = run.record(frame, { status: 'SUCCESS', exit, payload: `{"output":${text}}` });
  proceed(advance, run, run.state.settle(frame, exit), outcome);
}

/** Passes through a disabled node: no output, and the usual exit of its kind. */
function skip(advance: Advance, run: Run, frame: Frame): void {
  const { node } = frame;
  const exit = usualExitOf(node.definition, node.config);
  const outcome = run.record(frame, { status: 'SKIPPED', exit, payload: null });
  proceed(advance, run, run.state.settle(frame, exit), outcome);
}

interface Failure {
  resolved: unknown;
  error: AppError;
}

function failNode(advance: Advance, run: Run, frame: Frame, { resolved, error }: Failure): void {
  const { node } = frame;
  const policy = run.version.policies[node.index];
  const failures = run.state.countFailure(frame);
  if (error.retry && failures <= retriesOf(policy)) {
    const ms = retryDelay(policy?.retryDelayMs ?? 0, failures, error.retryAfter);
    return retryLater(advance, run, frame, { error, ms });
  }
  const connected = node.exits.has('error');
  if (endsTheRun(policy?.errorHandling, connected)) {
    run.record(frame, { status: 'FAILED', exit: null, payload: JSON.stringify({ error: shownError(error) }) });
    run.fail(error, { frame, attempt: run.attemptOf(frame) });
    return advance.submit(run);
  }
  // The run continues without the node's value.
  const exit = connected ? 'error' : usualExitOf(node.definition, node.config);
  const output: JsonObject = { ...nullOutput(resolved), success: false, error: shownError(error) };
  run.state.keep(frame, resolved, output);
  const payload = JSON.stringify({ output, error: shownError(error) });
  const outcome = run.record(frame, { status: 'FAILED', exit, payload });
  proceed(advance, run, run.state.settle(frame, exit), outcome);
}

function retryLater(advance: Advance, run: Run, frame: Frame, { error, ms }: { error: AppError; ms: number }): void {
  const dueAt = new Date(Date.now() + ms).toISOString();
  run.record(frame, { status: 'FAILED', exit: null, payload: JSON.stringify({ error: shownError(error), dueAt }) });
  wait(advance, run, frame, { kind: 'time', purpose: 'retry', ms });
}

async function park(advance: Advance, run: Run, frame: Frame, request: Park): Promise<void> {
  const parked = await parkNode(advance.pool, run, frame, request);
  if (run.isOver) return;
  run.record(frame, parked.event);
  wait(advance, run, frame, parked.wait);
}

function wait(advance: Advance, run: Run, frame: Frame, spec: Wait): void {
  run.wait(frame, spec, () => onDue(advance, run, frame));
  proceed(advance, run, [], null);
}

/** The time of a wait has come while the run is held. */
function onDue(advance: Advance, run: Run, frame: Frame): void {
  const waiting = run.waitOf(frame);
  if (!waiting || run.isOver) return;
  if (waiting.kind === 'time') return endWait(advance, run, frame, { kind: 'time' });
  // The time to answer is up. The database decides whether the answer came first, and its clock began with the commit.
  run.askAgain(frame, LATER_MS, () => onDue(advance, run, frame));
  advance.reread(run);
}

/** Ends the wait of a node: a retry runs the node again, any other wait continues it with the fact. */
function endWait(advance: Advance, run: Run, frame: Frame, fact: Fact): void {
  const purpose = run.resolve(frame);
  if (purpose === 'park') execute(advance, run, frame, fact);
  if (purpose !== 'retry') return;
  launch(advance, run, [frame], null);
  advance.submit(run);
}

/** Adds the start of frames to the commit that makes them ready; they start when it is durable. */
function launch(advance: Advance, run: Run, frames: readonly Frame[], outcome: PendingEvent | null): void {
  for (const frame of frames) run.launch(frame, outcome, () => execute(advance, run, frame));
}

/** Goes on after an outcome: starts what it made ready, or leaves that to the next holder. */
function proceed(advance: Advance, run: Run, next: readonly Frame[], outcome: PendingEvent | null): void {
  if (next.length > 0 && mustYield(advance, run)) run.postpone(next);
  else launch(advance, run, next, outcome);
  run.rest();
  advance.submit(run);
}

function mustYield({ shouldYield }: Advance, run: Run): boolean {
  if (run.hasBacklog || run.isSuspect) return true;
  return shouldYield() && (run.nodesRun >= QUANTUM.nodes || Date.now() - run.claimedAt >= QUANTUM.ms);
}
