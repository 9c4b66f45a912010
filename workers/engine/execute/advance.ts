import type { Activation } from '#shared/workflow/progress/progress.ts';
import { resolveConfig } from '#shared/workflow/resolve-arguments.ts';
import type { WaitResult } from '../../nodes/executor.ts';
import { executorOf } from '../../nodes/index.ts';
import type { Restored } from '../restore/restore.ts';
import type { PendingEvent } from '../state/pending-commit.ts';
import type { Run } from '../state/run.ts';
import type { Wait } from '../state/waits.ts';
import { isResident, residentScope } from '../values/read-values.ts';
import { remind } from '../waits/reminders.ts';
import type { WaitRow } from '../waits/wait-results.ts';
import { attempt, endChunk, type Process } from './attempt.ts';
import { type Conclusion, failActivation, skip, succeed, takePin } from './conclude.ts';
import { beginChunk } from './conclude-chunk.ts';
import { InlineBatch } from './inline-batch.ts';
import { isShortNode, type Slots } from './slots.ts';
import { createTask } from './task.ts';

/**
 * An owned run yields after this time if other runs wait. Not after a number of nodes: a claim costs as much as a hundred of them, which take a
 * fraction of this time.
 */
const QUANTUM_MS = 1000;
/** When a question that is not over yet by the database's clock is looked at again. */
const REREAD_MS = 500;

/** Parts of the process that the functions below use. They execute ready nodes and fill the run's pending commit; the committer writes it. */
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
  const inline: Activation[] = [];
  for (const activation of run.state.begin()) {
    run.state.countAttempt(activation);
    // Until it is computed: a process that was held up since it began leaves even the first node to the next commit.
    run.expect(activation);
    if (run.chunk) return proceed(advance, run, activation, beginChunk(run, activation, run.chunk));
    if (isInline(run, activation)) inline.push(activation);
    else execute(advance, run, activation);
  }
  if (inline.length > 0) runInline(advance, run, inline);
}

/** Continues a run that was held before. */
export function resumeRun(advance: Advance, run: Run, { ready, waits }: Restored): void {
  for (const { activation, wait, purpose } of waits)
    run.resume(
      activation,
      {
        kind: wait.kind,
        ref: wait.ref ?? undefined,
        purpose,
        ms: wait.dueInMs,
        spanMs: wait.spanMs,
        ...(wait.question && { expiresInMs: wait.question.expiresInMs }),
        reminded: wait.question?.reminded ?? 0,
      },
      () => onDue(advance, run, activation),
    );
  for (const activation of ready)
    if (run.state.repetitionOf(activation)) goOnRepeating(advance, run, activation);
    else launch(advance, run, activation, null);
  for (const { activation, wait } of waits) {
    if (wait.waitResult) endWait(advance, run, activation, wait.waitResult);
    else if (wait.question) remind(run, activation, wait.question, () => onDue(advance, run, activation));
  }
  run.rest();
  advance.submit(run);
}

/** Continues the nodes of an owned run whose waits are over, after its waits were read again. */
export function applyWaits(advance: Advance, run: Run, waits: readonly WaitRow[]): void {
  if (run.isOver) return;
  for (const { nodeID, path, waitResult, question } of waits) {
    const activation = run.state.find(nodeID, path);
    if (waitResult && activation) endWait(advance, run, activation, waitResult);
    else if (activation && question) remind(run, activation, question, () => onDue(advance, run, activation));
  }
  run.rest();
  advance.submit(run);
}

function execute(advance: Advance, run: Run, activation: Activation, waitResult?: WaitResult): void {
  if (run.isOver) return;
  run.start(activation);
  const untried = withoutExecution(advance, run, activation);
  if (untried !== undefined) return proceed(advance, run, activation, untried);
  void advance.slots.enter({
    flow: run.flow,
    // A read holds bytes, which short nodes have none of.
    isShort: isShortNode(activation.node) && isResident(run, activation),
    isOver: () => run.isOver,
    run: () => {
      const attempting = {
        run,
        activation,
        waitResult,
        proceed: (next: Conclusion) => proceed(advance, run, activation, next),
      };
      return isRootOfChunk(run, activation) ? endChunk(advance, attempting) : attempt(advance, attempting);
    },
  });
}

/** The conclusion of an activation that is disabled or pinned; undefined if it is to be executed. */
function withoutExecution({ config }: Advance, run: Run, activation: Activation): Conclusion | undefined {
  if (activation.node.isDisabled) return skip(run, activation);
  const pin = isRootOfChunk(run, activation) ? undefined : run.pinOf(activation);
  return pin && takePin(config, run, activation, pin);
}

/** Whether the activation is the map itself, in a chunk of it. */
function isRootOfChunk({ chunk }: Run, { path }: Activation): boolean {
  return chunk !== null && path.length === 0;
}

/** The time of a wait has come while the run is held. */
function onDue(advance: Advance, run: Run, activation: Activation): void {
  const waiting = run.waitOf(activation);
  if (!waiting || run.isOver) return;
  if (waiting.kind === 'time') return endWait(advance, run, activation, { kind: 'time', ms: waiting.spanMs ?? 0 });
  // The time to answer is up. The database decides whether the answer came first, and its clock began with the commit.
  run.askAgain(activation, REREAD_MS, () => onDue(advance, run, activation));
  advance.reread(run);
}

/** Ends the wait of a node, which continues with the result, runs again, or begins the next iteration of its body. */
function endWait(advance: Advance, run: Run, activation: Activation, waitResult: WaitResult): void {
  const purpose = run.resolve(activation);
  if (purpose === 'park') execute(advance, run, activation, waitResult);
  if (purpose !== 'retry' && purpose !== 'next') return;
  const ready = purpose === 'retry' ? [activation] : run.state.beginNext(activation);
  for (const next of ready) launch(advance, run, next, null);
  advance.submit(run);
}

/** Adds the start of an activation to the commit that makes it ready; it starts when that is durable. */
function launch(advance: Advance, run: Run, activation: Activation, outcome: PendingEvent | null): void {
  run.launch(activation, outcome);
  run.whenDurable(() => execute(advance, run, activation));
}

/** Goes on after an attempt of an activation. */
function proceed(advance: Advance, run: Run, activation: Activation, conclusion: Conclusion): void {
  runInline(advance, run, follow(advance, run, activation, conclusion), lengthOf(conclusion));
}

/** Begins a wait, or the activations that an outcome made ready. Returns those of them to be computed at once. */
function follow(advance: Advance, run: Run, activation: Activation, conclusion: Conclusion): readonly Activation[] {
  if (conclusion === null) return [];
  if ('wait' in conclusion) {
    beginWait(advance, run, activation, conclusion.wait);
    return [];
  }
  const { next, outcome } = conclusion;
  if (next.length > 0 && mustYield(advance, run)) {
    run.postpone(next);
    return [];
  }
  for (const ready of next) {
    if (run.state.repetitionOf(ready)) goOnRepeating(advance, run, ready);
    else if (isInline(run, ready)) run.launch(ready, outcome);
    else launch(advance, run, ready, outcome);
  }
  return next.filter((ready) => isInline(run, ready));
}

function beginWait(advance: Advance, run: Run, activation: Activation, wait: Wait): void {
  run.wait(activation, wait, () => onDue(advance, run, activation));
  if (!wait.awaited) return;
  // The event may have come before. It is looked for once the wait stands in the database; until then the run does not park.
  run.beginReading();
  run.whenDurable(() => advance.readFirst(run));
}

/** Goes on with an activation none of whose iterations runs: the next begins later, or there is no other. */
function goOnRepeating(advance: Advance, run: Run, activation: Activation): void {
  const { phase, repeat } = run.state.repetitionOf(activation) ?? {};
  if (phase === 'between' && repeat)
    return run.wait(activation, { kind: 'time', purpose: 'next', ms: repeat.delayMs }, () =>
      onDue(advance, run, activation),
    );
  run.expect(activation);
  // Results of the iterations are read from their rows.
  run.whenDurable(() => execute(advance, run, activation));
}

/** Whether an activation is computed for the commit of the outcome that makes it ready, and not after that. */
function isInline(run: Run, activation: Activation): boolean {
  const { isPure, isDisabled } = activation.node;
  const takesNoTime = isPure || isDisabled || run.pinOf(activation) !== undefined;
  return takesNoTime && run.version.options.durability === 'effect' && isResident(run, activation);
}

/**
 * Computes pure activations and the pure activations that follow from them, in the order of one commit per node, and submits the step. After a
 * large outcome they wait for its commit, so that other runs have the event loop in between.
 */
function runInline(advance: Advance, run: Run, activations: readonly Activation[], lengthBefore = 0): void {
  const waiting = [...activations];
  const batch = new InlineBatch(lengthBefore);
  // The loop also visits the activations that are added in it.
  for (const activation of waiting) {
    if (run.isOver || batch.isFull) break;
    const conclusion = compute(advance, run, activation);
    batch.add(lengthOf(conclusion));
    waiting.push(...follow(advance, run, activation, conclusion));
  }
  for (const activation of waiting.slice(batch.count)) run.whenDurable(() => execute(advance, run, activation));
  run.rest();
  advance.submit(run);
}

/** Characters of the payload of an outcome. */
function lengthOf(conclusion: Conclusion): number {
  return conclusion && 'outcome' in conclusion ? (conclusion.outcome.payload?.length ?? 0) : 0;
}

/** Executes a pure or disabled activation. No slot is needed: it neither waits nor reaches out. */
function compute(advance: Advance, run: Run, activation: Activation): Conclusion {
  const { node } = activation;
  run.start(activation);
  const untried = withoutExecution(advance, run, activation);
  if (untried !== undefined) return untried;
  const task = createTask(run, activation, undefined, advance.logger);
  let resolved: unknown;
  try {
    if (run.state.hasOffloaded) task.scope = residentScope(run, activation);
    resolved = resolveConfig(node, task.scope);
    const result = executorOf(node.definition)(task.with(resolved), advance.nodes);
    if (result instanceof Promise) throw new Error(`A pure node of the kind ${node.definition.kind} took time`);
    return succeed(advance.config, run, activation, { resolved, ...result });
  } catch (error) {
    return failActivation(run, activation, { resolved, error: task.explain(error) });
  }
}

function mustYield({ shouldYield, values }: Advance, run: Run): boolean {
  if (run.hasBacklog || run.isCrashSuspected || values.mustRelease(run)) return true;
  return shouldYield() && Date.now() - run.claimedAt >= QUANTUM_MS;
}
