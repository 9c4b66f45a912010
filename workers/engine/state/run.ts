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
  /** The creator of its tenant, who has one share of a worker's places however many tenants and callers there are. */
  creatorID: string;
  /** The user or key that saved it. Null if it was saved before that was stored. */
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

/** Why a process has released a run: it ended, waits, went to the end of the queue, was taken away, or was handed back. */
export type ReleaseReason = 'done' | 'parked' | 'yielded' | 'fenced' | 'drained';

/**
 * Events after which a commit carries a checkpoint. A restore reads at most about as many events as lie between two; a run that is
 * released is restored soon, one that is owned on only after a crash.
 */
const CHECKPOINT_EVERY = { none: 1000, yield: 100, park: 100 };

/**
 * A run while this process owns it: where it is in its graph, the outputs of its nodes, and the changes that the next commit
 * writes. Every verb changes memory only. Nodes are executed by the dispatcher; the committer takes the pending commits.
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
  /** It may have ended a worker. It yields as soon as its interrupted nodes have ended, because other crash-suspected runs wait. */
  readonly isCrashSuspected: boolean;
  readonly #testMode: TestMode;
  readonly claimedAt = Date.now();
  readonly #abort = new AbortController();
  readonly #begun = Promise.withResolvers<void>();
  readonly #released = Promise.withResolvers<void>();
  readonly #running = new Set<Activation>();
  readonly #waits = new Waits();
  /** Nodes whose wait is over. The commit that records their outcome deletes it: until then a crash must find it again. */
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
  /** Its last event says that it waits. */
  #isPaused = false;
  /** Reads of waits under way. The run does not park meanwhile, or a result found by them would be lost. */
  #readings = 0;
  /** The end of a chunk whose items have ended. */
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

  /** The `wake_seq` whose wait results are known here. */
  get observedWakeSeq(): number {
    return this.#observedWakeSeq;
  }

  /** Aborted when the run is cancelled, fails or is taken away. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Resolves when the run has begun in this process, its earlier events and waits included, or was released. Until then it looks finished. */
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

  /** Whether writes are refused. */
  get isDryRun(): boolean {
    return this.#testMode.dryRun ?? false;
  }

  /** The output that an activation gives without being executed; undefined if it is executed. */
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

  /** Announces an attempt of an activation with the next commit, as a start by `outcome` if that has made it ready. */
  launch(activation: Activation, outcome: PendingEvent | null): void {
    this.#running.add(activation);
    this.state.countAttempt(activation);
    // A disabled node takes no time.
    if (activation.node.isDisabled) return;
    if (outcome) outcome.started.push(activation);
    else this.#announce(activation, 'RUNNING');
  }

  /** Keeps the run from ending or parking until an activation is executed that no event announces: a first one, or one that goes on after its iterations. */
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

  /** Takes note that an activation is executed, or continued after its wait. */
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

  /** Leaves nodes that are ready for the next owner: the run yields. */
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

  /** Records reminders of a question, whose wait goes on until the next moment. */
  remind(activation: Activation, reminders: readonly ReminderMessage[], wait: Wait, onDue: () => void): void {
    for (const reminder of reminders) {
      const { collectionRequestID, number, of } = reminder;
      const payload = JSON.stringify({ wait: 'input', reminder: { collectionRequestID, number, of } });
      this.#pending.events.push({ ...eventAt(activation, this.attemptOf(activation)), payload });
      this.#pending.reminders.push(reminder);
    }
    this.#pending.release = 'none';
    // In place of the earlier row, whose time is over.
    this.#pending.resolved.push(activation);
    this.wait(activation, wait, onDue);
  }

  /** Continues a wait that stands in the database. */
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

  /** Takes note of a wake whose wait results have been read. A run that is being released drops them, so its commit, when sent again, must find the wake. */
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

  /** Sets the output with which the run completes, in place of those of its ends. */
  endWith(output: Json): void {
    this.#ending = { status: 'COMPLETED', output, error: null };
  }

  /** Fails the run, at an attempt of an activation if it is to blame, and cancels its activations that run, wait or repeat their body. */
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
   * that failure is what was refused: it is to be written again.
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

  /** Gives the pending commit to the committer. After one that ends or releases the run, nothing is added. */
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

  /** Takes note that the run waited when it was last owned: its next event says that it goes on. */
  goOn(): void {
    this.#isPaused = true;
  }

  /** Tells clients, with the first event of a commit, that the run goes on, and with the last that it waits. */
  #tellStatus(pending: PendingCommit): void {
    const [first] = pending.events;
    if (this.#isPaused && first) {
      this.#isPaused = false;
      // The end of a run says enough.
      if (first.activation) first.payload = withField(first.payload, 'goesOn', true);
    }
    if (pending.release !== 'park' || this.#isPaused) return;
    const waits = this.#waits.reason;
    const last = pending.events.at(-1);
    if (last) last.payload = withField(last.payload, 'waits', waits);
    else this.#tell(pending, 'WAITING', withField(null, 'waits', waits));
  }

  /** Takes note that the run has begun, or goes on from what it did before. */
  begin(): void {
    this.#begun.resolve();
  }

  /** Takes note of the checkpoint that the run was restored from. */
  continueFrom(seq: number): void {
    this.#checkpointSeq = seq;
  }

  /** Whether the database has, or will have, a checkpoint of the run. */
  get hasCheckpoint(): boolean {
    return this.#checkpointSeq > 0;
  }

  /** Takes note of a commit up to this number. */
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

  #cancelOthers(than: Activation | undefined, payload: string | null): void {
    const waiting = this.#waits.activations;
    // The start of a disabled node was not announced.
    for (const activation of new Set([...this.#running, ...waiting, ...this.state.repeating]))
      if (activation !== than && !activation.node.isDisabled) this.#announce(activation, 'CANCELLED', payload);
    // Selects the statement with waits, which in a terminal commit deletes all waits of the run.
    this.#pending.resolved.push(...waiting, ...this.#ended);
    // Not written yet and never needed: the commit cancels only questions that an earlier one has stored.
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

  /** The same commit may have a wait not yet written. */
  #deleteEndedWait(activation: Activation): void {
    if (!this.#ended.delete(activation)) return;
    this.#pending.waits = this.#pending.waits.filter((wait) => wait.activation !== activation);
    this.#pending.resolved.push(activation);
  }
}

function eventAt(activation: Activation, attempt: number) {
  return { activation, attempt, status: 'SUSPENDED', exit: null, started: [] } satisfies Partial<PendingEvent>;
}
