import type { WorkerConfig } from '#shared/config.ts';
import { AppError } from '#shared/errors.ts';
import type { JsonObject } from '#shared/json.ts';
import type { Lane } from '#shared/lanes.ts';
import type { Logger } from '#shared/logger.ts';
import { namedAssets } from '#shared/nodes/named-assets.ts';
import { exitsOf, usualExitOf } from '#shared/nodes/properties.ts';
import { contextPatch, resolveConfig } from '#shared/workflow/arguments.ts';
import { begin, type GraphNode, isFinished, settle } from '#shared/workflow/graph.ts';
import type { Fact, NodeContext, Park } from '../nodes/executor.ts';
import { executorOf } from '../nodes/index.ts';
import { checkAssets } from './asset-rights.ts';
import type { WaitRow } from './facts.ts';
import { failRun, finishRun } from './finish.ts';
import type { HeldRun, Waiting } from './held-run.ts';
import { endsTheRun, nullOutput, retriesOf, retryDelay, shownError } from './outcome.ts';
import { outputText } from './outputs.ts';
import { type ParkDependencies, parkNode } from './park.ts';
import { type Restored, recordEnd } from './restore.ts';
import type { Rights } from './rights.ts';
import { createTask } from './task.ts';

/** A held run yields after this much if other runs wait. */
const QUANTUM = { ms: 1000, nodes: 200 };

export interface Advance {
  /** Begins a run without history. */
  start(run: HeldRun): void;
  /** Continues a run that was held before. */
  resume(run: HeldRun, restored: Restored): void;
  /** Continues the nodes of a held run whose waits are over, after its waits were read again. */
  onWaits(run: HeldRun, waits: readonly WaitRow[]): void;
  failRun(run: HeldRun, error: AppError, where: { nodeID: string | null; attempt: number | null }): void;
}

export interface AdvanceDependencies extends ParkDependencies {
  rights: Rights;
  /** Slots for nodes that run in this process; tenants take turns. */
  slots: Lane;
  nodes: NodeContext;
  config: WorkerConfig;
  logger: Logger;
  submit(run: HeldRun): void;
  shouldYield(): boolean;
  /** Reads the run's waits and passes them to `onWaits`. */
  reread(run: HeldRun): void;
}

/** Executes ready nodes, records outcomes, and takes the next nodes from the graph. Writes nothing: it fills the run's step. */
export function createAdvance(dependencies: AdvanceDependencies): Advance {
  const { slots, config, submit } = dependencies;

  function execute(run: HeldRun, index: number, fact?: Fact): void {
    const node = run.version.graph.nodes[index];
    if (!node || isOver(run)) return;
    run.running.add(index);
    run.nodesRun += 1;
    if (!fact) run.attempts.set(index, (run.attempts.get(index) ?? 0) + 1);
    if (node.isDisabled) return skip(run, node);
    if (slots.take(run.turn)) void attempt(run, node, fact);
    else
      void slots.wait(run.turn).then(() => {
        if (!isOver(run)) return attempt(run, node, fact);
        slots.leave(run.turn);
      });
  }

  async function attempt(run: HeldRun, node: GraphNode, fact: Fact | undefined): Promise<void> {
    const task = createTask(run, node, fact, dependencies.logger);
    let resolved: unknown;
    try {
      resolved = resolveConfig(node, run.scope);
      if (node.definition.clocked) task.startClock();
      // A node that continues after its wait was checked before it parked.
      const assets = fact ? [] : namedAssets(node.definition, resolved);
      if (assets.length > 0) await checkAssets(dependencies.rights, run, { node, assets });
      const result = await executorOf(node.definition)(task.with(resolved), dependencies.nodes);
      if (isOver(run)) return;
      if ('park' in result) await park(run, node, result);
      else succeed(run, node, resolved, result);
    } catch (error) {
      if (!isOver(run)) failNode(run, node, resolved, task.explain(error));
    } finally {
      task.stopClock();
      slots.leave(run.turn);
    }
  }

  function succeed(
    run: HeldRun,
    node: GraphNode,
    resolved: unknown,
    { output, exit }: { output: JsonObject; exit: string | null },
  ): void {
    if (exit !== null && !node.exits.has(exit) && !exitsOf(node.definition, resolved).includes(exit))
      throw new AppError('NODE_FAILED', `The node left by the exit "${exit}", which it does not have`, {
        retry: false,
      });
    const text = outputText(output, config.nodeOutputMaxBytes);
    run.outputBytes += text.length;
    if (run.outputBytes > config.runOutputMaxBytes)
      throw new AppError(
        'OUTPUT_TOO_LARGE',
        `The outputs of this run are larger than the limit of ${config.runOutputMaxBytes} bytes together`,
      );
    const patch = contextPatch(node, resolved, output);
    if (patch) Object.assign(run.scope, patch);
    if (node.definition.ends) recordEnd(run, node.id, output);
    record(run, node, { status: 'SUCCESS', exit, payload: `{"output":${text}}` });
    continueRun(run, node.index, settle(run.version.graph, run.progress, node.index, exit));
  }

  /** Passes through a disabled node: no output, and the usual exit of its kind. */
  function skip(run: HeldRun, node: GraphNode): void {
    const exit = usualExitOf(node.definition, node.config);
    record(run, node, { status: 'SKIPPED', exit, payload: null });
    continueRun(run, node.index, settle(run.version.graph, run.progress, node.index, exit));
  }

  function failNode(run: HeldRun, node: GraphNode, resolved: unknown, error: AppError): void {
    const policy = run.version.policies[node.index];
    const failures = (run.failures.get(node.index) ?? 0) + 1;
    run.failures.set(node.index, failures);
    if (error.retry && failures <= retriesOf(policy)) {
      const ms = retryDelay(policy?.retryDelayMs ?? 0, failures, error.retryAfter);
      return retryLater(run, node, error, ms);
    }
    const connected = node.exits.has('error');
    if (endsTheRun(policy?.errorHandling, connected)) {
      record(run, node, { status: 'FAILED', exit: null, payload: JSON.stringify({ error: shownError(error) }) });
      run.running.delete(node.index);
      return fail(run, error, { nodeID: node.id, attempt: run.attempts.get(node.index) ?? 1 });
    }
    leaveByError(run, node, { resolved, error, exit: connected ? 'error' : usualExitOf(node.definition, node.config) });
  }

  function retryLater(run: HeldRun, node: GraphNode, error: AppError, ms: number): void {
    const dueAt = new Date(Date.now() + ms).toISOString();
    record(run, node, { status: 'FAILED', exit: null, payload: JSON.stringify({ error: shownError(error), dueAt }) });
    wait(run, node, { kind: 'time', purpose: 'retry', ms });
    continueRun(run, node.index, []);
  }

  /** Handles a failure: the run continues without the node's value. */
  function leaveByError(
    run: HeldRun,
    node: GraphNode,
    { resolved, error, exit }: { resolved: unknown; error: AppError; exit: string | null },
  ): void {
    const output: JsonObject = { ...nullOutput(resolved), success: false, error: shownError(error) };
    const patch = contextPatch(node, resolved, output);
    if (patch) Object.assign(run.scope, patch);
    record(run, node, { status: 'FAILED', exit, payload: JSON.stringify({ output, error: shownError(error) }) });
    continueRun(run, node.index, settle(run.version.graph, run.progress, node.index, exit));
  }

  async function park(run: HeldRun, node: GraphNode, request: Park): Promise<void> {
    const { event, waiting } = await parkNode(dependencies, run, node, request);
    if (isOver(run)) return;
    record(run, node, event);
    wait(run, node, waiting);
    continueRun(run, node.index, []);
  }

  function wait(run: HeldRun, node: GraphNode, spec: NewWait): void {
    run.step.waits.push({ nodeID: node.id, iteration: 0, kind: spec.kind, ref: spec.ref ?? null, dueInMs: spec.ms });
    trackWait(run, node.index, spec);
  }

  /** Sets a timer for a wait while the run is held; once the run is parked, the sweep ends the wait. */
  function trackWait(run: HeldRun, index: number, { kind, purpose, ms }: NewWait): void {
    const timer = ms === null ? null : setTimeout(() => onTimer(run, index), Math.min(Math.max(ms, 0), 2 ** 31 - 1));
    run.waiting.set(index, { kind, purpose, dueAt: ms === null ? null : Date.now() + ms, timer });
  }

  function onTimer(run: HeldRun, index: number): void {
    const waiting = run.waiting.get(index);
    if (!waiting || isOver(run)) return;
    if (waiting.kind !== 'time') {
      // The time to answer is up. The database decides whether the answer came first, and its clock began with the commit.
      waiting.timer = setTimeout(() => onTimer(run, index), LATER_MS);
      return dependencies.reread(run);
    }
    run.step.release = 'hold';
    endWait(run, index, { kind: 'time' });
  }

  /** Ends the wait of a node: a retry runs the node again, any other wait continues it with the fact. */
  function endWait(run: HeldRun, index: number, fact: Fact): void {
    const waiting = run.waiting.get(index);
    const node = run.version.graph.nodes[index];
    if (!waiting || !node) return;
    if (waiting.timer) clearTimeout(waiting.timer);
    run.waiting.delete(index);
    run.ended.add(index);
    if (waiting.purpose === 'park') return execute(run, index, fact);
    deleteEndedWait(run, node);
    launch(run, [index]);
    submit(run);
  }

  /** Adds RUNNING events to the commit that makes the nodes ready, and starts the nodes when it is durable. */
  function launch(run: HeldRun, indices: readonly number[]): void {
    for (const index of indices) {
      const node = run.version.graph.nodes[index];
      if (!node) continue;
      run.running.add(index);
      if (!node.isDisabled)
        run.step.events.push({
          nodeID: node.id,
          iteration: 0,
          attempt: (run.attempts.get(index) ?? 0) + 1,
          status: 'RUNNING',
          exit: null,
          payload: null,
        });
      run.step.next.push(() => execute(run, index));
    }
  }

  function continueRun(run: HeldRun, settled: number, next: readonly number[]): void {
    run.running.delete(settled);
    if (next.length > 0) {
      if (mustYield(run)) run.backlog.push(...next);
      else launch(run, next);
    }
    if (run.running.size === 0) releaseIdle(run);
    submit(run);
  }

  /** For a run of which no node runs: finishes it, yields, or parks it until a wait ends. */
  function releaseIdle(run: HeldRun): void {
    const { graph } = run.version;
    if (run.backlog.length > 0) run.step.release = 'yield';
    else if (run.waiting.size === 0 && isFinished(graph, run.progress)) finishRun(run);
    else if (run.rereading === 0 && ![...run.waiting.values()].some(isShort)) run.step.release = 'park';
  }

  function mustYield(run: HeldRun): boolean {
    if (run.backlog.length > 0) return true;
    return dependencies.shouldYield() && (run.nodesRun >= QUANTUM.nodes || Date.now() - run.claimedAt >= QUANTUM.ms);
  }

  function fail(run: HeldRun, error: AppError, where: { nodeID: string | null; attempt: number | null }): void {
    failRun(run, error, where);
    submit(run);
  }

  return {
    failRun: fail,
    start(run) {
      for (const index of begin(run.version.graph, run.progress)) execute(run, index);
    },
    resume(run, { ready, waits }) {
      for (const { index, wait: row, retry } of waits)
        trackWait(run, index, { kind: row.kind, purpose: retry ? 'retry' : 'park', ms: row.dueInMs });
      launch(run, ready);
      for (const { index, wait: row } of waits) if (row.fact) endWait(run, index, row.fact);
      if (run.running.size === 0) releaseIdle(run);
      submit(run);
    },
    onWaits(run, waits) {
      if (isOver(run)) return;
      for (const { nodeID, fact } of waits) {
        const index = run.version.graph.indexOf.get(nodeID);
        if (!fact || index === undefined || !run.waiting.has(index)) continue;
        run.step.release = 'hold';
        endWait(run, index, fact);
      }
      if (run.running.size > 0) return;
      releaseIdle(run);
      submit(run);
    },
  };
}

/** A wait that begins; `ms` from now, null without an end. */
type NewWait = Pick<Waiting, 'kind' | 'purpose'> & { ms: number | null; ref?: string };

/** Whether later outcomes are dropped: the run has left, is leaving, or has ended. */
function isOver(run: HeldRun): boolean {
  return run.left !== null || run.leaving || run.abort.signal.aborted || run.step.end !== null;
}

function record(
  run: HeldRun,
  node: GraphNode,
  event: { status: 'SUCCESS' | 'FAILED' | 'SKIPPED' | 'SUSPENDED'; exit: string | null; payload: string | null },
): void {
  deleteEndedWait(run, node);
  run.step.events.push({ nodeID: node.id, iteration: 0, attempt: run.attempts.get(node.index) ?? 1, ...event });
}

/** Deletes the ended wait of a node with the step that records what came of it. The same step may hold a wait not yet written. */
function deleteEndedWait(run: HeldRun, node: GraphNode): void {
  if (!run.ended.delete(node.index)) return;
  run.step.waits = run.step.waits.filter(({ nodeID }) => nodeID !== node.id);
  run.step.resolved.push(node.id);
}

/** When a question that is not over yet by the database's clock is looked at again. */
const LATER_MS = 500;

/** A run does not park for delays up to this: parking and claiming again would cost more. */
const SHORT_MS = 2000;

function isShort({ kind, dueAt }: { kind: string; dueAt: number | null }): boolean {
  return kind === 'time' && dueAt !== null && dueAt - Date.now() <= SHORT_MS;
}
