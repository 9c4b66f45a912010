import type { Caller } from '#shared/caller.ts';
import type { AppError } from '#shared/errors.ts';
import type { Turn } from '#shared/turns.ts';
import type { Graph, GraphNode } from '#shared/workflow/graph.ts';
import type { NodePolicy, WorkflowOptions } from '#shared/workflow/options.ts';
import type { ClaimedRow } from './claim.ts';
import { endPayload } from './result.ts';
import { RunState } from './run-state.ts';
import { emptyStep, hasWork, type PendingChild, type PendingEvent, type PendingRequest, type Step } from './step.ts';

/** A version of a workflow as the engine uses it; all its runs share the object. */
export interface LoadedVersion {
  graph: Graph;
  options: WorkflowOptions;
  /** By node index. */
  policies: readonly NodePolicy[];
}

/** What a node did. The event gets its place, attempt and number from the run. */
export interface Outcome {
  status: 'SUCCESS' | 'FAILED' | 'SKIPPED' | 'SUSPENDED';
  exit: string | null;
  /** JSON text of a RunEventPayload, or null. */
  payload: string | null;
}

export interface Wait {
  kind: 'time' | 'child' | 'input';
  /** A retry runs the node again; any other wait continues it with the fact. */
  purpose: 'park' | 'retry';
  /** From now; null without an end. */
  ms: number | null;
  /** The child or the question that is waited for, and its id. */
  ref?: string;
  child?: PendingChild;
  request?: PendingRequest;
}

interface Waiting extends Pick<Wait, 'kind' | 'purpose'> {
  dueAt: number | null;
  timer: NodeJS.Timeout | null;
}

export interface Where {
  nodeID: string | null;
  attempt: number | null;
}

/** Why a run has left the process: it ended, waits, went to the end of the line, was taken away, or was handed back. */
export type Leaving = 'done' | 'parked' | 'yielded' | 'fenced' | 'drained';

/** A run does not park for delays up to this: parking and claiming again would cost more. */
const SHORT_MS = 2000;

/**
 * A run while this process holds it: where it is in its graph, what its nodes have produced, and the step that the next commit
 * writes. Every verb changes memory only. Nodes are executed by `advance.ts`; the committer takes the steps.
 */
export class Run {
  readonly id: string;
  readonly tenantID: string;
  readonly workflowID: string | null;
  readonly parentID: string | null;
  readonly depth: number;
  readonly epoch: number;
  readonly caller: Caller;
  /** Decides the order in which runs get slots. */
  readonly turn: Turn;
  readonly version: LoadedVersion;
  readonly state: RunState;
  /** It may have ended a worker. It yields as soon as its interrupted nodes have ended, because other suspects wait. */
  readonly isSuspect: boolean;
  readonly claimedAt = Date.now();
  readonly #abort = new AbortController();
  readonly #released = Promise.withResolvers<void>();
  readonly #running = new Set<GraphNode>();
  readonly #waiting = new Map<GraphNode, Waiting>();
  /** Nodes whose wait is over. The commit that records their outcome deletes it: until then a crash must find it again. */
  readonly #ended = new Set<GraphNode>();
  /** Nodes that are ready but not started, because the run yields. */
  readonly #backlog: GraphNode[] = [];
  #step = emptyStep();
  #seq: number;
  #seen: number;
  #nodesRun = 0;
  /** The last commit of this holder is under way: no changes are added. */
  #isLeaving = false;
  #left: Leaving | null = null;
  /** Reads of waits under way. The run does not park meanwhile, or a fact found by them would be lost. */
  #readings = 0;

  constructor(row: ClaimedRow, version: LoadedVersion) {
    this.id = row.id;
    this.tenantID = row.tenant_id;
    this.workflowID = row.workflow_id;
    this.parentID = row.parent_id;
    this.depth = row.depth;
    this.epoch = row.epoch;
    this.caller = row.caller;
    this.turn = { tenantID: row.tenant_id, creatorID: row.caller.userID ?? row.caller.id };
    this.version = version;
    this.state = new RunState(version.graph, row.input);
    this.isSuspect = row.losses > 0;
    this.#seq = row.seq;
    this.#seen = row.wake_seq;
  }

  /** The last committed number of an event. */
  get seq(): number {
    return this.#seq;
  }

  /** The `wake_seq` whose facts are known here. */
  get seen(): number {
    return this.#seen;
  }

  /** Nodes begun since the claim. */
  get nodesRun(): number {
    return this.#nodesRun;
  }

  /** Aborted when the run is cancelled, fails or is taken away. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Resolves when the run has left this process. */
  get released(): Promise<void> {
    return this.#released.promise;
  }

  get left(): Leaving | null {
    return this.#left;
  }

  /** Whether later outcomes are dropped: the run has left, is leaving, or has ended. */
  get isOver(): boolean {
    return this.#left !== null || this.#isLeaving || this.#abort.signal.aborted || this.#step.end !== null;
  }

  get hasWork(): boolean {
    return hasWork(this.#step);
  }

  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  get hasBacklog(): boolean {
    return this.#backlog.length > 0;
  }

  get hasChildren(): boolean {
    return [...this.#waiting.values()].some(({ kind }) => kind === 'child');
  }

  nodeOf(nodeID: string): GraphNode | undefined {
    const { indexOf, nodes } = this.version.graph;
    return nodes[indexOf.get(nodeID) ?? -1];
  }

  attemptOf(node: GraphNode): number {
    return this.state.attemptsOf(node) || 1;
  }

  waitOf(node: GraphNode): Pick<Wait, 'kind' | 'purpose'> | undefined {
    return this.#waiting.get(node);
  }

  /** Announces a node whose start is part of the next step; `start` is called when that is durable. */
  launch(node: GraphNode, start: () => void): void {
    this.#running.add(node);
    // Counted when it starts; a disabled node takes no time.
    if (!node.isDisabled) this.#announce(node, { status: 'RUNNING', attempt: this.state.attemptsOf(node) + 1 });
    this.#step.next.push(start);
  }

  /** Begins an attempt of a node, or continues the one that has waited. */
  start(node: GraphNode, { isContinued }: { isContinued: boolean }): void {
    this.#running.add(node);
    this.#nodesRun += 1;
    if (!isContinued) this.state.countAttempt(node);
  }

  /** Adds what a node did to the step. */
  record(node: GraphNode, outcome: Outcome): void {
    this.#deleteEndedWait(node);
    this.#running.delete(node);
    this.#step.events.push({ nodeID: node.id, iteration: 0, attempt: this.attemptOf(node), ...outcome });
  }

  /** Leaves nodes that are ready for the next holder: the run yields. */
  postpone(nodes: readonly GraphNode[]): void {
    this.#backlog.push(...nodes);
  }

  /** Begins a wait with the next step; `onDue` is called when its time comes, if the run is still held. */
  wait(node: GraphNode, wait: Wait, onDue: () => void): void {
    const { kind, ref = null, ms, child, request } = wait;
    if (child) this.#step.children.push(child);
    if (request) this.#step.requests.push(request);
    this.#step.waits.push({ nodeID: node.id, iteration: 0, kind, ref, dueInMs: ms });
    this.resume(node, wait, onDue);
  }

  /** Continues a wait that stands in the database. */
  resume(node: GraphNode, { kind, purpose, ms }: Wait, onDue: () => void): void {
    const timer = ms === null ? null : setTimeout(onDue, Math.min(Math.max(ms, 0), 2 ** 31 - 1));
    this.#waiting.set(node, { kind, purpose, dueAt: ms === null ? null : Date.now() + ms, timer });
  }

  /** Calls `onDue` again later, for a wait that is not over yet by the database's clock. */
  askAgain(node: GraphNode, ms: number, onDue: () => void): void {
    const waiting = this.#waiting.get(node);
    if (waiting) waiting.timer = setTimeout(onDue, ms);
  }

  /** Ends the wait of a node. Its row stays until the node's outcome is recorded. */
  resolve(node: GraphNode): Wait['purpose'] | undefined {
    const waiting = this.#waiting.get(node);
    if (!waiting) return undefined;
    if (waiting.timer) clearTimeout(waiting.timer);
    this.#waiting.delete(node);
    this.#ended.add(node);
    this.#step.release = 'hold';
    if (waiting.purpose === 'retry') this.#deleteEndedWait(node);
    return waiting.purpose;
  }

  /** Counts a read of the waits, until `endReading`. */
  beginReading(): void {
    this.#readings += 1;
  }

  endReading(): void {
    this.#readings -= 1;
  }

  /** Takes note of a wake whose facts have been read. */
  see(wakeSeq: number): void {
    this.#seen = Math.max(this.#seen, wakeSeq);
  }

  /** If no node runs: ends the run, yields, or parks it until a wait ends. */
  rest(): void {
    if (!this.isIdle || this.isOver) return;
    if (this.hasBacklog) this.#step.release = 'yield';
    else if (this.#waiting.size === 0 && this.state.isFinished) this.#end(this.state.end);
    else if (this.#readings === 0 && ![...this.#waiting.values()].some(isShort)) this.#step.release = 'park';
  }

  /** Fails the run and cancels its nodes that run or wait. */
  fail(error: AppError, where: Where): void {
    for (const node of [...this.#running, ...this.#waiting.keys()])
      if (node.id !== where.nodeID) this.#announce(node, { status: 'CANCELLED', attempt: this.attemptOf(node) });
    // Selects the statement with waits, which in a terminal commit deletes all waits of the run.
    for (const { id } of [...this.#waiting.keys(), ...this.#ended]) this.#step.resolved.push(id);
    // Not written yet and never needed: the commit cancels only questions that an earlier one has stored.
    Object.assign(this.#step, { waits: [], requests: [], children: [], release: 'hold', next: [] });
    this.#end({ status: 'FAILED', output: null, error: { code: error.code, message: error.message, ...where } });
    this.#abort.abort(error);
  }

  /** Fails the run after the database has refused a step. The failure replaces everything else that was to be written. */
  refuse({ events }: Step, error: AppError): void {
    this.#step = emptyStep();
    const outcome = events.find(({ status }) => status === 'SUCCESS');
    this.fail(error, { nodeID: outcome?.nodeID ?? null, attempt: outcome?.attempt ?? null });
  }

  /** Hands the step over to the committer. After one that ends or releases the run, nothing is added. */
  takeStep(): Step {
    const step = this.#step;
    this.#step = emptyStep();
    this.#isLeaving = step.end !== null || step.release !== 'hold';
    return step;
  }

  /** Takes note of a commit up to this number. */
  committed(seq: number): void {
    this.#seq = seq;
  }

  abort(error: AppError): void {
    this.#abort.abort(error);
  }

  /** Ends the run in this process; false if it has left already. */
  leave(how: Leaving): boolean {
    if (this.#left) return false;
    this.#left = how;
    for (const { timer } of this.#waiting.values()) if (timer) clearTimeout(timer);
    this.#released.resolve();
    return true;
  }

  #end(end: NonNullable<Step['end']>): void {
    const { status } = end;
    this.#step.end = end;
    this.#step.events.push({ nodeID: null, iteration: 0, attempt: 1, status, exit: null, payload: endPayload(end) });
  }

  #announce(node: GraphNode, event: Pick<PendingEvent, 'status' | 'attempt'>): void {
    this.#step.events.push({ nodeID: node.id, iteration: 0, exit: null, payload: null, ...event });
  }

  /** The same step may hold a wait not yet written. */
  #deleteEndedWait(node: GraphNode): void {
    if (!this.#ended.delete(node)) return;
    this.#step.waits = this.#step.waits.filter(({ nodeID }) => nodeID !== node.id);
    this.#step.resolved.push(node.id);
  }
}

function isShort({ kind, dueAt }: Waiting): boolean {
  return kind === 'time' && dueAt !== null && dueAt - Date.now() <= SHORT_MS;
}
