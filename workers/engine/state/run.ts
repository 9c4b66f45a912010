import type { FlowKey } from '#shared/concurrency/fair-queue.ts';
import type { Actor, Caller } from '#shared/core/caller.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Json } from '#shared/core/json.ts';
import type { ReminderMessage } from '#shared/messaging/realtime/reminders.ts';
import type { Graph } from '#shared/workflow/graph/graph.ts';
import type { NodePolicy, WorkflowOptions } from '#shared/workflow/options.ts';
import type { Activation } from '#shared/workflow/progress/progress.ts';
import type { RunStatus } from '#shared/workflow/progress/status.ts';
import type { Pin, TestMode } from '#shared/workflow/test-mode.ts';
import type { Chunk } from './chunk.ts';
import type { ClaimedRow } from './claimed-row.ts';
import { shownError } from './outcome.ts';
import { emptyCommit, hasWork, type PendingCommit, type PendingEvent } from './pending-commit.ts';
import { endPayload, withField } from './result.ts';
import { RunState } from './run-state.ts';
import type { Source } from './source.ts';
import { type Wait, Waits } from './waits.ts';

/** A version of a workflow as the engine uses it; all its runs share the object. */
export interface LoadedVersion {
  /** The creator of its tenant, who gets one share of a worker's slots, however many tenants the creator has. */
  creatorID: string;
  /** The user or key that saved it. Null if it was saved before authors were stored. */
  author: Actor | null;
  graph: Graph;
  options: WorkflowOptions;
  /** The policies by node index. */
  policies: readonly NodePolicy[];
}

/** The outcome of a node. The event gets its activation, attempt and number from the run. */
export interface Outcome {
  status: 'SUCCESS' | 'FAILED' | 'SKIPPED' | 'SUSPENDED';
  exit: string | null;
  /** JSON text of a RunEventPayload, or null. */
  payload: string | null;
  source?: Source;
}

export interface Attempt {
  activation: Activation;
  attempt: number;
}

/** The reason for which a process has released a run: it ended, waits, went to the end of the queue, was taken away, or was handed back. */
export type ReleaseReason = 'done' | 'parked' | 'yielded' | 'fenced' | 'drained';

/**
 * The number of events since the last checkpoint from which a commit carries the next one, by how it releases the run. A restore reads about
 * as many events. A run that stays owned (`none`) is restored only after a crash, so its checkpoints may be rare.
 */
const CHECKPOINT_EVERY = { none: 1000, yield: 100, park: 100 };

/**
 * A run while this process owns it: where it is in its graph, the outputs of its nodes, and the changes that the next commit
 * writes. Every method changes memory only. Nodes are executed by the dispatcher; the committer takes the pending commits.
 */
export class Run {
  readonly id: string;
  readonly tenantID: string;
  readonly workflowID: string | null;
  readonly parentID: string | null;
  /** Null: the run is not a chunk of a map. */
  readonly chunk: Chunk | null;
  readonly depth: number;
  readonly epoch: number;
  readonly caller: Caller;
  /** Decides the order in which runs get slots. */
  readonly flow: FlowKey;
  readonly version: LoadedVersion;
  readonly state: RunState;
  /** The run may have crashed a worker. It yields as soon as its interrupted nodes have ended, because other crash-suspected runs wait. */
  readonly isCrashSuspected: boolean;
  readonly #testMode: TestMode;
  readonly claimedAt = Date.now();
  readonly #abort = new AbortController();
  readonly #begun = Promise.withResolvers<void>();
  readonly #released = Promise.withResolvers<void>();
  readonly #running = new Set<Activation>();
  readonly #waits = new Waits();
  /** Nodes whose wait is over. The commit of their outcome deletes the row of the wait: after a crash before that, the next owner needs it. */
  readonly #ended = new Set<Activation>();
  /** Nodes that are ready but not started, because the run yields. */
  readonly #backlog: Activation[] = [];
  #pending = emptyCommit();
  #seq: number;
  #observedWakeSeq: number;
  #checkpointSeq = 0;
  /** The last commit of this owner is under way: no changes are added. */
  #isReleasing = false;
  /** The database has refused a commit, and the run fails. */
  #isRefused = false;
  #releaseReason: ReleaseReason | null = null;
  /** Whether the last event says that the run waits. */
  #isPaused = false;
  /** How many reads of waits are under way. The run does not park meanwhile, or the results that they find would be lost. */
  #readings = 0;
  /** The end of a run that is a chunk, set when its items have ended. */
  #ending: PendingCommit['end'] = null;

  constructor(row: ClaimedRow, version: LoadedVersion, chunk: Chunk | null = null) {
    this.id = row.id;
    this.tenantID = row.tenant_id;
    this.workflowID = row.workflow_id;
    this.parentID = row.parent_id;
    this.depth = row.depth;
    this.epoch = row.epoch;
    this.caller = row.caller;
    this.flow = { tenantID: row.tenant_id, creatorID: version.creatorID };
    this.version = version;
    this.chunk = chunk;
    this.state = new RunState(version.graph, row.input, chunk);
    this.isCrashSuspected = row.losses > 0;
    this.#testMode = row.test_mode ?? {};
    this.#seq = row.seq;
    this.#observedWakeSeq = row.wake_seq;
  }

  /** The last committed number of an event. */
  get seq(): number {
    return this.#seq;
  }

  /** The `wake_seq` up to which this process has read the wait results. */
  get observedWakeSeq(): number {
    return this.#observedWakeSeq;
  }

  /** Aborted when the run is cancelled, fails or is taken away. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Resolves when the run has begun in this process, its earlier events and waits included, or was released. Until then the run looks finished. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  /** Resolves when this process has released the run. */
  get released(): Promise<void> {
    return this.#released.promise;
  }

  get releaseReason(): ReleaseReason | null {
    return this.#releaseReason;
  }

  /** Whether later outcomes are dropped: the run is released, is being released, or has ended. */
  get isOver(): boolean {
    return (
      this.#releaseReason !== null || this.#isReleasing || this.#abort.signal.aborted || this.#pending.end !== null
    );
  }

  /** Length of the outputs that its next commit carries. */
  get pendingLength(): number {
    let length = this.#pending.end ? this.state.endLength : 0;
    for (const { payload } of this.#pending.events) length += payload?.length ?? 0;
    return length;
  }

  get hasWork(): boolean {
    return hasWork(this.#pending);
  }

  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  get hasBacklog(): boolean {
    return this.#backlog.length > 0;
  }

  get hasChildren(): boolean {
    return this.#waits.hasChildren;
  }

  /** Whether the run is a test in which nodes must not write. */
  get isDryRun(): boolean {
    return this.#testMode.dryRun ?? false;
  }

  /** The output that a test run gives for an activation in place of executing it; undefined if it is executed. */
  pinOf({ node }: Activation): Pin | undefined {
    const { pinned = {} } = this.#testMode;
    return Object.hasOwn(pinned, node.id) ? pinned[node.id] : undefined;
  }

  attemptOf(activation: Activation): number {
    return this.state.attemptsOf(activation) || 1;
  }

  waitOf(activation: Activation): ReturnType<Waits['of']> {
    return this.#waits.of(activation);
  }

  /** Announces an attempt with the next commit: in the event of `outcome`, if that made the activation ready, else in an event of its own. */
  launch(activation: Activation, outcome: PendingEvent | null): void {
    this.#running.add(activation);
    this.state.countAttempt(activation);
    // A disabled node takes no time.
    if (activation.node.isDisabled) return;
    if (outcome) outcome.started.push(activation);
    else this.#announce(activation, 'RUNNING');
  }

  /**
   * Keeps the run from ending or parking until the activation is executed. For activations without an event RUNNING that would say so: the first of a run, and
   * one that continues after its iterations.
   */
  expect(activation: Activation): void {
    this.#running.add(activation);
  }

  /** Has an activation executed when the pending commit is durable. */
  startWhenDurable(activation: Activation): void {
    this.#pending.next.push(activation);
  }

  /** Has the waits read when the pending commit is durable. Until then the run does not park. */
  readWhenDurable(): void {
    this.beginReading();
    this.#pending.firstReads += 1;
  }

  /** Records that an activation is executed, or continued after its wait. */
  start(activation: Activation): void {
    this.#running.add(activation);
  }

  /** Adds the outcome of a node to the pending commit. Returns the event. */
  record(activation: Activation, outcome: Outcome): PendingEvent {
    this.#deleteEndedWait(activation);
    this.#running.delete(activation);
    const log = this.state.logs.take(activation);
    const event = { activation, attempt: this.attemptOf(activation), started: [], ...outcome, log };
    // So that the next owner knows how much is stored.
    if (log) event.payload = withField(event.payload, 'log', log.size);
    this.#pending.events.push(event);
    return event;
  }

  /** Leaves ready nodes to the next owner. The run is to be released now (it yields), because other runs wait or need its memory. */
  postpone(activations: readonly Activation[]): void {
    this.#backlog.push(...activations);
  }

  /** Begins a wait with the next commit; `onDue` is called when its time comes, if the run is still owned. */
  wait(activation: Activation, wait: Wait, onDue: () => void): void {
    const { kind, ref = null, ms, child, request, map, awaited = null, reminded = 0 } = wait;
    if (child) this.#pending.children.push(child);
    if (request) this.#pending.requests.push(request);
    if (map) this.#pending.maps.push(map);
    this.#pending.waits.push({ activation, kind, ref, dueInMs: ms, awaited, reminded });
    this.resume(activation, wait, onDue);
  }

  /** Records reminders of a question. Its wait goes on until the next reminder, or until the question expires. */
  remind(activation: Activation, reminders: readonly ReminderMessage[], wait: Wait, onDue: () => void): void {
    for (const reminder of reminders) {
      const { collectionRequestID, number, of } = reminder;
      const payload = JSON.stringify({ wait: 'input', reminder: { collectionRequestID, number, of } });
      this.#pending.events.push({ ...eventAt(activation, this.attemptOf(activation)), payload });
      this.#pending.reminders.push(reminder);
    }
    this.#pending.release = 'none';
    // The row of the wait, whose time has come, is replaced.
    this.#pending.resolved.push(activation);
    this.wait(activation, wait, onDue);
  }

  /** Continues a wait that the database has. */
  resume(activation: Activation, wait: Wait, onDue: () => void): void {
    this.#waits.begin(activation, wait, onDue);
  }

  /** Calls `onDue` again later, for a wait that is not over yet by the database's clock. */
  askAgain(activation: Activation, ms: number, onDue: () => void): void {
    this.#waits.askAgain(activation, ms, onDue);
  }

  /** Ends the wait of a node. Its row stays until the node's outcome is recorded. */
  resolve(activation: Activation): Wait['purpose'] | undefined {
    const purpose = this.#waits.end(activation);
    if (!purpose) return undefined;
    this.#ended.add(activation);
    this.#pending.release = 'none';
    if (purpose !== 'park') this.#deleteEndedWait(activation);
    return purpose;
  }

  /** Counts a read of the waits, until `endReading`. */
  beginReading(): void {
    this.#readings += 1;
  }

  endReading(): void {
    this.#readings -= 1;
  }

  /**
   * Records that the wait results up to this `wake_seq` have been read. Not if the run is being released: it drops these results, so its commit
   * has to find that it was woken, and make it READY again.
   */
  observeWake(wakeSeq: number): void {
    if (!this.#isReleasing) this.#observedWakeSeq = Math.max(this.#observedWakeSeq, wakeSeq);
  }

  /** If no node runs: ends the run, yields, or parks it until a wait ends. */
  rest(): void {
    if (!this.isIdle || this.isOver) return;
    if (this.hasBacklog) this.#pending.release = 'yield';
    else if (this.#waits.size === 0 && this.state.isFinished) this.#end(this.#ending ?? this.state.end);
    else if (this.#readings === 0 && !this.#waits.hasShort) this.#pending.release = 'park';
  }

  /** Sets the output with which the run completes, in place of the outputs of its end nodes. */
  endWith(output: Json): void {
    this.#ending = { status: 'COMPLETED', output, error: null };
  }

  /** Fails the run and cancels its activations that run, wait or repeat their body. `at`: the attempt that caused the failure, if any. */
  fail(error: AppError, at: Attempt | null): void {
    this.#cancelOthers(at?.activation, null);
    const where = { nodeID: at?.activation.node.id ?? null, attempt: at?.attempt ?? null };
    const frame = at && { frame: at.activation.path };
    this.#end({ status: 'FAILED', output: null, error: { ...shownError(error), ...where, ...frame } });
    this.#abort.abort(error);
  }

  /** Ends the run at an end node, and cancels its activations that run, wait or repeat their body. */
  endAt(activation: Activation): void {
    this.#cancelOthers(activation, JSON.stringify({ output: { cancelledBy: activation.node.id } }));
    this.#end(this.state.end);
    this.#abort.abort(new AppError('NODE_FAILED', `The run has ended at node "${activation.node.id}"`));
  }

  /** Ends a test run if it is to stop after this activation, with the output of the activation. Returns whether it has ended. */
  stopAfter(activation: Activation, output: Json): boolean {
    if (this.#testMode.stopAfter !== activation.node.id) return false;
    this.#cancelOthers(activation, JSON.stringify({ output: { cancelledBy: activation.node.id } }));
    this.#end({ status: 'COMPLETED', output, error: null });
    this.#abort.abort(new AppError('NODE_FAILED', `The test has ended after node "${activation.node.id}"`));
    return true;
  }

  /**
   * Fails the run after the database has refused a commit. The failure replaces everything else that was to be written. Returns false if
   * the refused commit was already this failure, which then has to be written again.
   */
  refuse(pending: PendingCommit, error: AppError): boolean {
    if (this.#isRefused) {
      this.#pending = pending;
      return false;
    }
    this.#isRefused = true;
    this.#pending = emptyCommit();
    const { activation, attempt = 1 } = pending.events.find(({ status }) => status === 'SUCCESS') ?? {};
    this.fail(error, activation ? { activation, attempt } : null);
    return true;
  }

  /** Gives the pending commit to the committer. After a commit that ends or releases the run, no changes are added. */
  takePending(): PendingCommit {
    const pending = this.#pending;
    this.#pending = emptyCommit();
    this.#isReleasing = pending.end !== null || pending.release !== 'none';
    this.#tellStatus(pending);
    let seq = this.#seq;
    for (const { started, source } of pending.events) {
      seq += 1 + started.length;
      if (source) source.seq = seq;
    }
    if (pending.end === null && seq - this.#checkpointSeq >= CHECKPOINT_EVERY[pending.release]) {
      pending.checkpoint = JSON.stringify(
        this.state.checkpoint({ retrying: this.#waits.retrying, isPaused: pending.release === 'park' }),
      );
      this.#checkpointSeq = seq;
    }
    return pending;
  }

  /** Records that the run waited when it was last owned: its next event tells clients that it goes on. */
  goOn(): void {
    this.#isPaused = true;
  }

  /** Adds to the first event of a commit that the run goes on after a pause, and to the last that it now waits. Clients see both. */
  #tellStatus(pending: PendingCommit): void {
    const [first] = pending.events;
    if (this.#isPaused && first) {
      this.#isPaused = false;
      // Without an activation, the event is the end of the run, and clients need not see that the run went on before.
      if (first.activation) first.payload = withField(first.payload, 'goesOn', true);
    }
    if (pending.release !== 'park' || this.#isPaused) return;
    const waits = this.#waits.reason;
    const last = pending.events.at(-1);
    if (last) last.payload = withField(last.payload, 'waits', waits);
    else this.#tell(pending, 'WAITING', withField(null, 'waits', waits));
  }

  /** Records that the run has begun here, or has been restored. */
  begin(): void {
    this.#begun.resolve();
  }

  /** Records the number of the checkpoint that the run was restored from. */
  continueFrom(seq: number): void {
    this.#checkpointSeq = seq;
  }

  /** Whether the database has, or will have, a checkpoint of the run. */
  get hasCheckpoint(): boolean {
    return this.#checkpointSeq > 0;
  }

  /** Records that events up to this number are committed. */
  committed(seq: number): void {
    this.#seq = seq;
  }

  abort(error: AppError): void {
    this.#abort.abort(error);
  }

  /** Releases the run from this process; false if it was released already. */
  release(reason: ReleaseReason): boolean {
    if (this.#releaseReason) return false;
    this.#releaseReason = reason;
    this.#waits.stopTimers();
    this.#begun.resolve();
    this.#released.resolve();
    return true;
  }

  #end(end: NonNullable<PendingCommit['end']>): void {
    const { status } = end;
    this.#pending.end = end;
    this.#tell(this.#pending, status, endPayload(end));
  }

  /** Adds an event about the run itself. */
  #tell({ events }: PendingCommit, status: RunStatus, payload: string | null): void {
    events.push({ activation: null, attempt: 1, status, exit: null, payload, started: [] });
  }

  /** Cancels all activations that run, wait or repeat their body, except one. */
  #cancelOthers(except: Activation | undefined, payload: string | null): void {
    const waiting = this.#waits.activations;
    // The start of a disabled node was not announced.
    for (const activation of new Set([...this.#running, ...waiting, ...this.state.repeating]))
      if (activation !== except && !activation.node.isDisabled) this.#announce(activation, 'CANCELLED', payload);
    // With ended waits the committer uses the statement that writes waits. In a terminal commit it deletes all waits of the run.
    this.#pending.resolved.push(...waiting, ...this.#ended);
    // Pending changes that are not needed any more. The commit cancels only questions that an earlier commit has stored.
    Object.assign(this.#pending, {
      waits: [],
      requests: [],
      reminders: [],
      maps: [],
      children: [],
      release: 'none',
      next: [],
      firstReads: 0,
    });
  }

  #announce(activation: Activation, status: 'RUNNING' | 'CANCELLED', payload: string | null = null): void {
    this.#pending.events.push({
      activation,
      attempt: this.attemptOf(activation),
      status,
      exit: null,
      payload,
      started: [],
    });
  }

  /** Deletes the row of an ended wait with the next commit, and drops the wait if it is pending in this commit. */
  #deleteEndedWait(activation: Activation): void {
    if (!this.#ended.delete(activation)) return;
    this.#pending.waits = this.#pending.waits.filter((wait) => wait.activation !== activation);
    this.#pending.resolved.push(activation);
  }
}

function eventAt(activation: Activation, attempt: number) {
  return { activation, attempt, status: 'SUSPENDED', exit: null, started: [] } satisfies Partial<PendingEvent>;
}
