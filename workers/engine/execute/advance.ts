import type { Frame } from '#shared/workflow/progress/progress.ts';
import { resolveConfig } from '#shared/workflow/resolve-arguments.ts';
import type { Fact } from '../../nodes/executor.ts';
import { executorOf } from '../../nodes/index.ts';
import type { Restored } from '../restore/restore.ts';
import type { PendingEvent } from '../state/pending-commit.ts';
import type { Run } from '../state/run.ts';
import type { Wait } from '../state/waits.ts';
import { isAtHand, scopeAtHand } from '../values/read-values.ts';
import { remind } from '../waits/reminders.ts';
import type { WaitRow } from '../waits/wait-results.ts';
import { attempt, endChunk, type Process } from './attempt.ts';
import { type Conclusion, failFrame, skip, succeed, takePin } from './conclude.ts';
import { beginChunk } from './conclude-chunk.ts';
import { Together } from './inline-batch.ts';
import { isShortNode, type Slots } from './slots.ts';
import { createTask } from './task.ts';

/**
 * A held run yields after this time if other runs wait. Not after a number of nodes: a claim costs as much as a hundred of them, which take a
 * fraction of this time.
 */
const QUANTUM_MS = 1000;
/** When a question that is not over yet by the database's clock is looked at again. */
const LATER_MS = 500;

/** What the functions below need of the process. They execute ready nodes and fill the run's step; the committer writes it. */
export interface Advance extends Process {
  slots: Slots;
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
        spanMs: wait.spanMs,
        ...(wait.question && { expiresInMs: wait.question.expiresInMs }),
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
  const untried = withoutExecution(advance, run, frame);
  if (untried !== undefined) return proceed(advance, run, frame, untried);
  void advance.slots.enter({
    turn: run.turn,
    // A read holds bytes, which short nodes have none of.
    isShort: isShortNode(frame.node) && isAtHand(run, frame),
    isOver: () => run.isOver,
    run: () => {
      const attempting = { run, frame, fact, proceed: (next: Conclusion) => proceed(advance, run, frame, next) };
      return isRootOfChunk(run, frame) ? endChunk(advance, attempting) : attempt(advance, attempting);
    },
  });
}

/** What follows from a frame that is disabled or pinned; undefined if it is to be executed. */
function withoutExecution({ config }: Advance, run: Run, frame: Frame): Conclusion | undefined {
  if (frame.node.isDisabled) return skip(run, frame);
  const pin = isRootOfChunk(run, frame) ? undefined : run.pinOf(frame);
  return pin && takePin(config, run, frame, pin);
}

/** Whether the frame is the map itself, in a chunk of it. */
function isRootOfChunk({ chunk }: Run, { path }: Frame): boolean {
  return chunk !== null && path.length === 0;
}

/** The time of a wait has come while the run is held. */
function onDue(advance: Advance, run: Run, frame: Frame): void {
  const waiting = run.waitOf(frame);
  if (!waiting || run.isOver) return;
  if (waiting.kind === 'time') return endWait(advance, run, frame, { kind: 'time', ms: waiting.spanMs ?? 0 });
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
function isTogether(run: Run, frame: Frame): boolean {
  const { isPure, isDisabled } = frame.node;
  const takesNoTime = isPure || isDisabled || run.pinOf(frame) !== undefined;
  return takesNoTime && run.version.options.durability === 'effect' && isAtHand(run, frame);
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
  const untried = withoutExecution(advance, run, frame);
  if (untried !== undefined) return untried;
  const task = createTask(run, frame, undefined, advance.logger);
  let resolved: unknown;
  try {
    if (run.state.hasApart) task.scope = scopeAtHand(run, frame);
    resolved = resolveConfig(node, task.scope);
    const result = executorOf(node.definition)(task.with(resolved), advance.nodes);
    if (result instanceof Promise) throw new Error(`A pure node of the kind ${node.definition.kind} took time`);
    return succeed(advance.config, run, frame, { resolved, ...result });
  } catch (error) {
    return failFrame(run, frame, { resolved, error: task.explain(error) });
  }
}

function mustYield({ shouldYield, values }: Advance, run: Run): boolean {
  if (run.hasBacklog || run.isSuspect || values.mustMakeRoom(run)) return true;
  return shouldYield() && Date.now() - run.claimedAt >= QUANTUM_MS;
}
