import type { Activation } from '#shared/workflow/progress/progress.ts';
import type { WaitResult } from '../../nodes/executor.ts';
import type { Restored } from '../restore/restore.ts';
import type { PendingCommit, PendingEvent } from '../state/pending-commit.ts';
import type { Run } from '../state/run.ts';
import type { Wait } from '../state/waits.ts';
import { isResident } from '../values/read-values.ts';
import { remind } from '../waits/reminders.ts';
import type { WaitRow } from '../waits/wait-results.ts';
import { computeNode, executeNode, type Process, withoutExecution } from './executor.ts';
import { InlineBatch } from './inline-batch.ts';
import type { NodeResult, Transition } from './node-result.ts';
import { reduce } from './reducer.ts';
import { isShortNode, type Slots } from './slots.ts';

/**
 * An owned run yields after this time if other runs wait. A limit by the number of nodes would be worse: the claim of the next run costs as
 * much as a hundred nodes, which take only a fraction of this time.
 */
const QUANTUM_MS = 1000;
/** Pause until a wait is read again that is due by the clock of this process but not yet by that of the database. */
const REREAD_MS = 500;

/**
 * Starts the nodes of owned runs. A node goes through four steps: `execute` has the executor run it in a slot, the reducer applies its
 * result to the run, `follow` adds the nodes that become ready to the pending commit, and `startNext` executes them once that is durable.
 */
export interface NodeDispatcher {
  /** Begins a run without history. */
  begin(run: Run): void;
  /** Continues a run that was owned before. */
  resume(run: Run, restored: Restored): void;
  /** Continues the nodes whose waits are over, after the waits of the run were read again. */
  applyWaits(run: Run, waits: readonly WaitRow[]): void;
  /** Executes the activations that a commit has made durable. */
  startNext(run: Run, committed: Pick<PendingCommit, 'next' | 'firstReads'>): void;
}

interface Dependencies extends Process {
  slots: Slots;
  /** Has the committer write the run's pending commit. */
  submit(run: Run): void;
  shouldYield(): boolean;
  /** Reads the run's waits and passes them to `applyWaits`. */
  reread(run: Run): void;
  /** The same for a read that the run already counts (`readWhenDurable`). It is repeated until it succeeds, or the run is given up. */
  readFirst(run: Run): void;
}

export function createNodeDispatcher(dependencies: Dependencies): NodeDispatcher {
  const { config, values, slots, submit, shouldYield, reread, readFirst } = dependencies;

  function begin(run: Run): void {
    const inline: Activation[] = [];
    for (const activation of run.state.begin()) {
      run.state.countAttempt(activation);
      // Keeps the run from parking: in a slow process the batch may be full at once, so that the node is computed after the next commit.
      run.expect(activation);
      if (run.chunk) return settle(run, activation, { kind: 'chunk begins', chunk: run.chunk });
      if (isInline(run, activation)) inline.push(activation);
      else execute(run, activation);
    }
    if (inline.length > 0) computeInline(run, inline);
  }

  /** Has an activation executed in a slot, and takes its result. */
  function execute(run: Run, activation: Activation, waitResult?: WaitResult): void {
    if (run.isOver) return;
    run.start(activation);
    const knownResult = withoutExecution(run, activation);
    if (knownResult) return settle(run, activation, knownResult);
    void slots.enter({
      flow: run.flow,
      // Reading an offloaded value needs a reservation of memory, and short nodes get none.
      isShort: isShortNode(activation.node) && isResident(run, activation),
      isOver: () => run.isOver,
      run: async () => {
        const result = await executeNode(dependencies, run, { activation, waitResult });
        if (result && !run.isOver) settle(run, activation, result);
      },
    });
  }

  /**
   * Applies the result of an activation to the run, and goes on with what follows. Nothing may be awaited in between: a run with neither a
   * running activation nor a wait would look as if it could end or park.
   */
  function settle(run: Run, activation: Activation, result: NodeResult): void {
    const transition = reduce(config, run, activation, result);
    computeInline(run, follow(run, activation, transition), lengthOf(transition));
  }

  /** Adds a wait, or the activations that became ready, to the pending commit. Returns the activations to be computed at once. */
  function follow(run: Run, activation: Activation, transition: Transition): readonly Activation[] {
    if (transition === null) return [];
    if ('wait' in transition) {
      beginWait(run, activation, transition.wait);
      return [];
    }
    const { next, outcome } = transition;
    if (next.length > 0 && mustYield(run)) {
      run.postpone(next);
      return [];
    }
    for (const ready of next) announce(run, ready, outcome);
    return next.filter((ready) => isInline(run, ready));
  }

  /** Adds the start of an activation to the outcome that has made it ready. */
  function announce(run: Run, activation: Activation, outcome: PendingEvent): void {
    if (run.state.repetitionOf(activation)) goOnRepeating(run, activation);
    else if (isInline(run, activation)) run.launch(activation, outcome);
    else launch(run, activation, outcome);
  }

  /**
   * Computes pure activations, and the pure ones that they make ready, in the order that separate commits would have, and submits one.
   * Activations that the batch has no room for, as after a large outcome (`lengthBefore`), are executed after it: other runs come between.
   */
  function computeInline(run: Run, activations: readonly Activation[], lengthBefore = 0): void {
    const waiting = [...activations];
    const batch = new InlineBatch(lengthBefore);
    // The loop also visits the activations that are added in it.
    for (const activation of waiting) {
      if (run.isOver || batch.isFull) break;
      run.start(activation);
      const result = withoutExecution(run, activation) ?? computeNode(dependencies, run, activation);
      const transition = reduce(config, run, activation, result);
      batch.add(lengthOf(transition));
      waiting.push(...follow(run, activation, transition));
    }
    for (const activation of waiting.slice(batch.count)) run.startWhenDurable(activation);
    run.rest();
    submit(run);
  }

  function startNext(run: Run, { next, firstReads }: Pick<PendingCommit, 'next' | 'firstReads'>): void {
    for (const activation of next) execute(run, activation);
    for (let n = 0; n < firstReads; n += 1) readFirst(run);
  }

  /** Adds the start of an activation to the commit that makes it ready; it starts when that is durable. */
  function launch(run: Run, activation: Activation, outcome: PendingEvent | null): void {
    run.launch(activation, outcome);
    run.startWhenDurable(activation);
  }

  function beginWait(run: Run, activation: Activation, wait: Wait): void {
    run.wait(activation, wait, () => onDue(run, activation));
    // The event may have come before the wait. It is searched for once the wait is in the database; until then the run does not park.
    if (wait.awaited) run.readWhenDurable();
  }

  /** Continues an activation that repeats its body while no iteration runs: waits for the next one, or after the last has it executed. */
  function goOnRepeating(run: Run, activation: Activation): void {
    const { phase, repeat } = run.state.repetitionOf(activation) ?? {};
    if (phase === 'between' && repeat)
      return run.wait(activation, { kind: 'time', purpose: 'next', ms: repeat.delayMs }, () => onDue(run, activation));
    run.expect(activation);
    // The results of the iterations are read from their rows.
    run.startWhenDurable(activation);
  }

  function resume(run: Run, { ready, waits }: Restored): void {
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
        () => onDue(run, activation),
      );
    for (const activation of ready)
      if (run.state.repetitionOf(activation)) goOnRepeating(run, activation);
      else launch(run, activation, null);
    for (const { activation, wait } of waits) endOrRemind(run, activation, wait);
    run.rest();
    submit(run);
  }

  function applyWaits(run: Run, waits: readonly WaitRow[]): void {
    if (run.isOver) return;
    for (const wait of waits) {
      const activation = run.state.find(wait.nodeID, wait.path);
      if (activation) endOrRemind(run, activation, wait);
    }
    run.rest();
    submit(run);
  }

  function endOrRemind(run: Run, activation: Activation, { waitResult, question }: WaitRow): void {
    if (waitResult) endWait(run, activation, waitResult);
    else if (question) remind(run, activation, question, () => onDue(run, activation));
  }

  /** Ends a wait whose time has come while the run is owned, or has the database decide whether it is over. */
  function onDue(run: Run, activation: Activation): void {
    const waiting = run.waitOf(activation);
    if (!waiting || run.isOver) return;
    if (waiting.kind === 'time') return endWait(run, activation, { kind: 'time', ms: waiting.spanMs ?? 0 });
    // The database decides whether an answer came before the time was over. Its time began with the commit, later than this timer.
    run.askAgain(activation, REREAD_MS, () => onDue(run, activation));
    reread(run);
  }

  /** Ends the wait of a node, which continues with the result, runs again, or begins the next iteration of its body. */
  function endWait(run: Run, activation: Activation, waitResult: WaitResult): void {
    const purpose = run.resolve(activation);
    if (purpose === 'park') execute(run, activation, waitResult);
    if (purpose !== 'retry' && purpose !== 'next') return;
    const ready = purpose === 'retry' ? [activation] : run.state.beginNext(activation);
    for (const next of ready) launch(run, next, null);
    submit(run);
  }

  function mustYield(run: Run): boolean {
    if (run.hasBacklog || run.isCrashSuspected || values.mustRelease(run)) return true;
    return shouldYield() && Date.now() - run.claimedAt >= QUANTUM_MS;
  }

  return { begin, resume, applyWaits, startNext };
}

/** Whether an activation is computed at once, so that the commit of the outcome that makes it ready carries its outcome too. */
function isInline(run: Run, activation: Activation): boolean {
  const { isPure, isDisabled } = activation.node;
  const takesNoTime = isPure || isDisabled || run.pinOf(activation) !== undefined;
  return takesNoTime && run.version.options.durability === 'effect' && isResident(run, activation);
}

/** Length of the payload of an outcome. */
function lengthOf(transition: Transition): number {
  return transition && 'outcome' in transition ? (transition.outcome.payload?.length ?? 0) : 0;
}
