import type { WorkerConfig } from '#shared/config.ts';
import { StoreAway } from '#shared/db/own-read.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Logger } from '#shared/logger.ts';
import { namedAssets } from '#shared/nodes/named-assets.ts';
import type { Rights } from '#shared/policy/rights.ts';
import { untilReachable } from '#shared/until-reachable.ts';
import { resolveConfig } from '#shared/workflow/arguments.ts';
import type { GraphNode } from '#shared/workflow/graph.ts';
import type { Frame } from '#shared/workflow/progress.ts';
import type { Fact, NodeContext, Park } from '../nodes/executor.ts';
import { executorOf } from '../nodes/index.ts';
import { checkAssets } from './asset-rights.ts';
import { parkMap } from './begin-map.ts';
import { type Conclusion, failFrame, repeatBody, skip, succeed } from './conclude.ts';
import { beginChunk, completeChunk, failChunk } from './conclude-chunk.ts';
import type { WaitRow } from './facts.ts';
import { readIterations } from './iterations.ts';
import { readMapResults } from './map-results.ts';
import type { Maps } from './maps.ts';
import { variablesOf } from './node-variables.ts';
import { type OwnPark, parkNode } from './park.ts';
import { remind } from './reminders.ts';
import type { Restored } from './restore.ts';
import type { Run } from './run.ts';
import { isShortNode, type Slots } from './slots.ts';
import type { PendingEvent } from './step.ts';
import { type AttemptTask, createTask } from './task.ts';
import { Together } from './together.ts';
import type { Wait } from './waits.ts';

/**
 * A held run yields after this time if other runs wait. Not after a number of nodes: a claim costs as much as a hundred of them, which take a
 * fraction of this time.
 */
const QUANTUM_MS = 1000;
/** When a question that is not over yet by the database's clock is looked at again. */
const LATER_MS = 500;

/** What the functions below need of the process. They execute ready nodes and fill the run's step; the committer writes it. */
export interface Advance {
  pool: Pool;
  rights: Rights;
  slots: Slots;
  nodes: NodeContext;
  maps: Pick<Maps, 'stop'>;
  config: WorkerConfig;
  logger: Logger;
  submit(run: Run): void;
  shouldYield(): boolean;
  /** Reads the run's waits and passes them to `applyWaits`. */
  reread(run: Run): void;
  /** The same for a read that was counted before and must not fail. */
  readFirst(run: Run): void;
}

/** Begins a run without history. */
export function startRun(advance: Advance, run: Run): void {
  const together: Frame[] = [];
  for (const frame of run.state.begin()) {
    run.state.countAttempt(frame);
    // Until it is computed: a process that was held up since it began leaves even the first node to the next commit.
    run.expect(frame);
    if (run.chunk) return proceed(advance, run, frame, beginChunk(run, frame, run.chunk));
    if (isTogether(run, frame)) together.push(frame);
    else execute(advance, run, frame);
  }
  if (together.length > 0) computeTogether(advance, run, together);
}

/** Continues a run that was held before. */
export function resumeRun(advance: Advance, run: Run, { ready, waits }: Restored): void {
  for (const { frame, wait, purpose } of waits)
    run.resume(
      frame,
      {
        kind: wait.kind,
        ref: wait.ref ?? undefined,
        purpose,
        ms: wait.dueInMs,
        reminded: wait.question?.reminded ?? 0,
      },
      () => onDue(advance, run, frame),
    );
  for (const frame of ready)
    if (run.state.repetitionOf(frame)) goOnRepeating(advance, run, frame);
    else launch(advance, run, frame, null);
  for (const { frame, wait } of waits) {
    if (wait.fact) endWait(advance, run, frame, wait.fact);
    else if (wait.question) remind(run, frame, wait.question, () => onDue(advance, run, frame));
  }
  run.rest();
  advance.submit(run);
}

/** Continues the nodes of a held run whose waits are over, after its waits were read again. */
export function applyWaits(advance: Advance, run: Run, waits: readonly WaitRow[]): void {
  if (run.isOver) return;
  for (const { nodeID, path, fact, question } of waits) {
    const frame = run.state.find(nodeID, path);
    if (fact && frame) endWait(advance, run, frame, fact);
    else if (frame && question) remind(run, frame, question, () => onDue(advance, run, frame));
  }
  run.rest();
  advance.submit(run);
}

function execute(advance: Advance, run: Run, frame: Frame, fact?: Fact): void {
  if (run.isOver) return;
  run.start(frame);
  if (frame.node.isDisabled) return proceed(advance, run, frame, skip(run, frame));
  void advance.slots.enter({
    turn: run.turn,
    isShort: isShortNode(frame.node),
    isOver: () => run.isOver,
    run: () => (isRootOfChunk(run, frame) ? endChunk(advance, run, frame) : attempt(advance, run, frame, fact)),
  });
}

/** Whether the frame is the map itself, in a chunk of it. */
function isRootOfChunk({ chunk }: Run, { path }: Frame): boolean {
  return chunk !== null && path.length === 0;
}

/** Ends a chunk whose items have ended. */
async function endChunk(advance: Advance, run: Run, frame: Frame): Promise<void> {
  const task = createTask(run, frame, undefined, advance.logger);
  try {
    const fact = await untilReachable(() => readIterations(advance.pool, run, frame), task.waiting({}));
    if (!run.isOver) proceed(advance, run, frame, completeChunk(advance.config, run, frame, fact));
  } catch (error) {
    if (!run.isOver) proceed(advance, run, frame, failChunk(run, frame, task.explain(error)));
  }
}

async function attempt(advance: Advance, run: Run, frame: Frame, fact: Fact | undefined): Promise<void> {
  const { node } = frame;
  const task = createTask(run, frame, fact, advance.logger);
  let resolved: unknown;
  try {
    // What Postgres did not answer is repeated, for as long as it is away: nothing has happened yet.
    const waiting = task.waiting({});
    if (node.variables) {
      const names = node.variables.named.map(({ name }) => name);
      const read = () => advance.nodes.variables.read(run.tenantID, names);
      const isAway = (error: unknown) => error instanceof StoreAway;
      task.variables = variablesOf(node, await untilReachable(read, task.waiting({ isAway })));
    }
    resolved = resolveConfig(node, run.state.scopeOf(frame), task.variables.values);
    task.fact = await untilReachable(() => factFor(advance, run, frame, fact), waiting);
    // A node that continues after its wait was checked before it parked.
    const assets = task.fact ? [] : namedAssets(node.definition, resolved);
    if (assets.length > 0) await untilReachable(() => checkAssets(advance.rights, run, { node, assets }), waiting);
    const whileExecuting = task.waiting({
      isAway: (error) => error instanceof StoreAway,
      // The node's time is for its own work.
      onAway: () => task.stopClock(),
    });
    const result = await untilReachable(() => executeClocked(advance, task.with(resolved), node), whileExecuting);
    if (run.isOver) return;
    if ('park' in result && result.park === 'iterations') {
      const { park: _, ...repeat } = result;
      proceed(advance, run, frame, repeatBody(advance.config, run, frame, repeat));
    } else if ('park' in result && result.park === 'chunks') beginMap(advance, run, frame, result);
    else if ('park' in result) await untilReachable(() => park(advance, run, frame, result), waiting);
    else proceed(advance, run, frame, succeed(advance.config, run, frame, { resolved, ...result }));
  } catch (error) {
    if (!run.isOver) proceed(advance, run, frame, failFrame(run, frame, { resolved, error: task.explain(error) }));
  } finally {
    task.stopClock();
  }
}

function executeClocked({ nodes }: Advance, task: AttemptTask, { definition }: GraphNode) {
  if (definition.clocked) task.startClock();
  return Promise.resolve(executorOf(definition)(task, nodes));
}

/** Begins to work off items in chunks, unless there is nothing to do. */
function beginMap(
  advance: Advance,
  run: Run,
  frame: Frame,
  { park: _, ...map }: Extract<Park, { park: 'chunks' }>,
): void {
  if (map.items.length === 0 || frame.node.body === null)
    return execute(advance, run, frame, { kind: 'iterations', results: [], total: map.items.length, failed: 0 });
  const parked = parkMap(advance.config, run, frame, map);
  run.record(frame, parked.event);
  proceed(advance, run, frame, { wait: parked.wait });
}

/** What the node is told, with what its iterations or its chunks gave. Throws if they have failed. */
async function factFor(advance: Advance, run: Run, frame: Frame, fact: Fact | undefined): Promise<Fact | undefined> {
  if (run.state.repetitionOf(frame)) return readIterations(advance.pool, run, frame);
  if (fact?.kind !== 'chunks') return fact;
  if (fact.outcome !== 'done') await advance.maps.stop(fact.mapID);
  return readMapResults(advance.pool, fact);
}

async function park(advance: Advance, run: Run, frame: Frame, request: OwnPark): Promise<void> {
  const parked = await parkNode(advance, run, frame, request);
  if (run.isOver) return;
  run.record(frame, parked.event);
  proceed(advance, run, frame, { wait: parked.wait });
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

/** Ends the wait of a node, which continues with the fact, runs again, or begins the next iteration of its body. */
function endWait(advance: Advance, run: Run, frame: Frame, fact: Fact): void {
  const purpose = run.resolve(frame);
  if (purpose === 'park') execute(advance, run, frame, fact);
  if (purpose !== 'retry' && purpose !== 'next') return;
  const ready = purpose === 'retry' ? [frame] : run.state.beginNext(frame);
  for (const next of ready) launch(advance, run, next, null);
  advance.submit(run);
}

/** Adds the start of a frame to the commit that makes it ready; it starts when that is durable. */
function launch(advance: Advance, run: Run, frame: Frame, outcome: PendingEvent | null): void {
  run.launch(frame, outcome);
  run.whenDurable(() => execute(advance, run, frame));
}

/** Goes on after an attempt of a frame. */
function proceed(advance: Advance, run: Run, frame: Frame, conclusion: Conclusion): void {
  computeTogether(advance, run, follow(advance, run, frame, conclusion), lengthOf(conclusion));
}

/** Begins a wait, or the frames that an outcome made ready. Returns those of them to be computed at once. */
function follow(advance: Advance, run: Run, frame: Frame, conclusion: Conclusion): readonly Frame[] {
  if (conclusion === null) return [];
  if ('wait' in conclusion) {
    beginWait(advance, run, frame, conclusion.wait);
    return [];
  }
  const { next, outcome } = conclusion;
  if (next.length > 0 && mustYield(advance, run)) {
    run.postpone(next);
    return [];
  }
  for (const ready of next) {
    if (run.state.repetitionOf(ready)) goOnRepeating(advance, run, ready);
    else if (isTogether(run, ready)) run.launch(ready, outcome);
    else launch(advance, run, ready, outcome);
  }
  return next.filter((ready) => isTogether(run, ready));
}

function beginWait(advance: Advance, run: Run, frame: Frame, wait: Wait): void {
  run.wait(frame, wait, () => onDue(advance, run, frame));
  if (!wait.awaited) return;
  // The event may have come before. It is looked for once the wait stands in the database; until then the run does not park.
  run.beginReading();
  run.whenDurable(() => advance.readFirst(run));
}

/** Goes on with a frame none of whose iterations runs: the next begins later, or there is no other. */
function goOnRepeating(advance: Advance, run: Run, frame: Frame): void {
  const { phase, repeat } = run.state.repetitionOf(frame) ?? {};
  if (phase === 'between' && repeat)
    return run.wait(frame, { kind: 'time', purpose: 'next', ms: repeat.delayMs }, () => onDue(advance, run, frame));
  run.expect(frame);
  // What the iterations have given is read from their rows.
  run.whenDurable(() => execute(advance, run, frame));
}

/** Whether a frame is computed for the commit of the outcome that makes it ready, and not after that. */
function isTogether({ version }: Run, { node }: Frame): boolean {
  return (node.isPure || node.isDisabled) && version.options.durability === 'effect';
}

/**
 * Computes pure frames and the pure frames that follow from them, in the order of one commit per node, and submits the step. After a
 * large outcome they wait for its commit, so that other runs have the event loop in between.
 */
function computeTogether(advance: Advance, run: Run, frames: readonly Frame[], lengthBefore = 0): void {
  const waiting = [...frames];
  const together = new Together(lengthBefore);
  // The loop also visits the frames that are added in it.
  for (const frame of waiting) {
    if (run.isOver || together.isFull) break;
    const conclusion = compute(advance, run, frame);
    together.add(lengthOf(conclusion));
    waiting.push(...follow(advance, run, frame, conclusion));
  }
  for (const frame of waiting.slice(together.frames)) run.whenDurable(() => execute(advance, run, frame));
  run.rest();
  advance.submit(run);
}

/** Of the payload of an outcome. */
function lengthOf(conclusion: Conclusion): number {
  return conclusion && 'outcome' in conclusion ? (conclusion.outcome.payload?.length ?? 0) : 0;
}

/** Executes a pure or disabled frame. No slot is needed: it neither waits nor reaches out. */
function compute(advance: Advance, run: Run, frame: Frame): Conclusion {
  const { node } = frame;
  run.start(frame);
  if (node.isDisabled) return skip(run, frame);
  const task = createTask(run, frame, undefined, advance.logger);
  let resolved: unknown;
  try {
    resolved = resolveConfig(node, run.state.scopeOf(frame));
    const result = executorOf(node.definition)(task.with(resolved), advance.nodes);
    if (result instanceof Promise) throw new Error(`A pure node of the kind ${node.definition.kind} took time`);
    return succeed(advance.config, run, frame, { resolved, ...result });
  } catch (error) {
    return failFrame(run, frame, { resolved, error: task.explain(error) });
  }
}

function mustYield({ shouldYield }: Advance, run: Run): boolean {
  if (run.hasBacklog || run.isSuspect) return true;
  return shouldYield() && Date.now() - run.claimedAt >= QUANTUM_MS;
}
