import type { Turn } from '#shared/concurrency/fair-queue.ts';
import type { Actor, Caller } from '#shared/core/caller.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Json } from '#shared/core/json.ts';
import type { ReminderNotice } from '#shared/messaging/realtime/reminders.ts';
import type { Graph } from '#shared/workflow/graph/graph.ts';
import type { NodePolicy, WorkflowOptions } from '#shared/workflow/options.ts';
import type { Frame } from '#shared/workflow/progress/progress.ts';
import type { RunStatus } from '#shared/workflow/progress/status.ts';
import type { Pin, TestMode } from '#shared/workflow/test-mode.ts';
import type { Chunk } from './chunk.ts';
import type { ClaimedRow } from './claimed-row.ts';
import { shownError } from './outcome.ts';
import { emptyStep, hasWork, type PendingEvent, type Step } from './pending-commit.ts';
import { endPayload, withField } from './result.ts';
import { RunState } from './run-state.ts';
import type { Source } from './source.ts';
import { type Wait, Waits } from './waits.ts';

/** A version of a workflow as the engine uses it; all its runs share the object. */
export interface LoadedVersion {
  /** The creator of its tenant, who has one share of a worker's places however many tenants and callers there are. */
  creatorID: string;
  /** Who saved it. Null if it was saved before that was kept. */
  author: Actor | null;
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
  source?: Source;
}

export interface Attempt {
  frame: Frame;
  attempt: number;
}

/** Why a run has left the process: it ended, waits, went to the end of the line, was taken away, or was handed back. */
export type Leaving = 'done' | 'parked' | 'yielded' | 'fenced' | 'drained';

/**
 * Events after which a commit carries a checkpoint. A restore reads at most about as many events as lie between two; a run that is
 * released is restored soon, one that is held only after a crash.
 */
const CHECKPOINT_EVERY = { hold: 1000, yield: 100, park: 100 };

/**
 * A run while this process holds it: where it is in its graph, what its nodes have produced, and the step that the next commit
 * writes. Every verb changes memory only. Nodes are executed by `advance.ts`; the committer takes the steps.
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
  readonly turn: Turn;
  readonly version: LoadedVersion;
  readonly state: RunState;
  /** It may have ended a worker. It yields as soon as its interrupted nodes have ended, because other suspects wait. */
  readonly isSuspect: boolean;
  readonly #testMode: TestMode;
  readonly claimedAt = Date.now();
  readonly #abort = new AbortController();
  readonly #begun = Promise.withResolvers<void>();
  readonly #released = Promise.withResolvers<void>();
  readonly #running = new Set<Frame>();
  readonly #waits = new Waits();
  /** Nodes whose wait is over. The commit that records their outcome deletes it: until then a crash must find it again. */
  readonly #ended = new Set<Frame>();
  /** Nodes that are ready but not started, because the run yields. */
  readonly #backlog: Frame[] = [];
  #step = emptyStep();
  #seq: number;
  #seen: number;
  #checkpointSeq = 0;
  /** The last commit of this holder is under way: no changes are added. */
  #isLeaving = false;
  /** The database has refused a step, and the run fails. */
  #isRefused = false;
  #left: Leaving | null = null;
  /** Its last event says that it waits. */
  #isPaused = false;
  /** Reads of waits under way. The run does not park meanwhile, or a fact found by them would be lost. */
  #readings = 0;
  /** Of a chunk whose items have ended. */
  #ending: Step['end'] = null;

  constructor(row: ClaimedRow, version: LoadedVersion, chunk: Chunk | null = null) {
    this.id = row.id;
    this.tenantID = row.tenant_id;
    this.workflowID = row.workflow_id;
    this.parentID = row.parent_id;
    this.depth = row.depth;
    this.epoch = row.epoch;
    this.caller = row.caller;
    this.turn = { tenantID: row.tenant_id, creatorID: version.creatorID };
    this.version = version;
    this.chunk = chunk;
    this.state = new RunState(version.graph, row.input, chunk);
    this.isSuspect = row.losses > 0;
    this.#testMode = row.test_mode ?? {};
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

  /** Aborted when the run is cancelled, fails or is taken away. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Resolves when the run has begun in this process, its earlier events and waits included, or has left. Until then it looks finished. */
  get begun(): Promise<void> {
    return this.#begun.promise;
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

  /** Length of the outputs that its next commit carries. */
  get stepLength(): number {
    let length = this.#step.end ? this.state.endLength : 0;
    for (const { payload } of this.#step.events) length += payload?.length ?? 0;
    return length;
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
    return this.#waits.hasChildren;
  }

  /** Whether writes are refused. */
  get isDryRun(): boolean {
    return this.#testMode.dryRun ?? false;
  }

  /** What a frame gives without being executed; undefined if it is executed. */
  pinOf({ node }: Frame): Pin | undefined {
    const { pinned = {} } = this.#testMode;
    return Object.hasOwn(pinned, node.id) ? pinned[node.id] : undefined;
  }

  attemptOf(frame: Frame): number {
    return this.state.attemptsOf(frame) || 1;
  }

  waitOf(frame: Frame): ReturnType<Waits['of']> {
    return this.#waits.of(frame);
  }

  /** Announces an attempt of a frame with the next step, as a start by `outcome` if that has made it ready. */
  launch(frame: Frame, outcome: PendingEvent | null): void {
    this.#running.add(frame);
    this.state.countAttempt(frame);
    // A disabled node takes no time.
    if (frame.node.isDisabled) return;
    if (outcome) outcome.started.push(frame);
    else this.#announce(frame, 'RUNNING');
  }

  /** Keeps the run from ending or parking until a frame is executed that no event announces: a first one, or one that goes on after its iterations. */
  expect(frame: Frame): void {
    this.#running.add(frame);
  }

  /** Calls a function when the next step is durable. */
  whenDurable(start: () => void): void {
    this.#step.next.push(start);
  }

  /** Takes note that a frame is executed, or continued after its wait. */
  start(frame: Frame): void {
    this.#running.add(frame);
  }

  /** Adds what a node did to the step. Returns the event. */
  record(frame: Frame, outcome: Outcome): PendingEvent {
    this.#deleteEndedWait(frame);
    this.#running.delete(frame);
    const log = this.state.logs.take(frame);
    const event = { frame, attempt: this.attemptOf(frame), started: [], ...outcome, log };
    // So that the next holder knows how much is stored.
    if (log) event.payload = withField(event.payload, 'log', log.size);
    this.#step.events.push(event);
    return event;
  }

  /** Leaves nodes that are ready for the next holder: the run yields. */
  postpone(frames: readonly Frame[]): void {
    this.#backlog.push(...frames);
  }

  /** Begins a wait with the next step; `onDue` is called when its time comes, if the run is still held. */
  wait(frame: Frame, wait: Wait, onDue: () => void): void {
    const { kind, ref = null, ms, child, request, map, awaited = null, reminded = 0 } = wait;
    if (child) this.#step.children.push(child);
    if (request) this.#step.requests.push(request);
    if (map) this.#step.maps.push(map);
    this.#step.waits.push({ frame, kind, ref, dueInMs: ms, awaited, reminded });
    this.resume(frame, wait, onDue);
  }

  /** Records reminders of a question, whose wait goes on until the next moment. */
  remind(frame: Frame, notices: readonly ReminderNotice[], wait: Wait, onDue: () => void): void {
    for (const notice of notices) {
      const { collectionRequestID, number, of } = notice;
      const payload = JSON.stringify({ wait: 'input', reminder: { collectionRequestID, number, of } });
      this.#step.events.push({ ...eventAt(frame, this.attemptOf(frame)), payload });
      this.#step.reminders.push(notice);
    }
    this.#step.release = 'hold';
    // In place of the earlier row, whose time is over.
    this.#step.resolved.push(frame);
    this.wait(frame, wait, onDue);
  }

  /** Continues a wait that stands in the database. */
  resume(frame: Frame, wait: Wait, onDue: () => void): void {
    this.#waits.begin(frame, wait, onDue);
  }

  /** Calls `onDue` again later, for a wait that is not over yet by the database's clock. */
  askAgain(frame: Frame, ms: number, onDue: () => void): void {
    this.#waits.askAgain(frame, ms, onDue);
  }

  /** Ends the wait of a node. Its row stays until the node's outcome is recorded. */
  resolve(frame: Frame): Wait['purpose'] | undefined {
    const purpose = this.#waits.end(frame);
    if (!purpose) return undefined;
    this.#ended.add(frame);
    this.#step.release = 'hold';
    if (purpose !== 'park') this.#deleteEndedWait(frame);
    return purpose;
  }

  /** Counts a read of the waits, until `endReading`. */
  beginReading(): void {
    this.#readings += 1;
  }

  endReading(): void {
    this.#readings -= 1;
  }

  /** Takes note of a wake whose facts have been read. A run that leaves drops them, so its commit, when sent again, must find the wake. */
  see(wakeSeq: number): void {
    if (!this.#isLeaving) this.#seen = Math.max(this.#seen, wakeSeq);
  }

  /** If no node runs: ends the run, yields, or parks it until a wait ends. */
  rest(): void {
    if (!this.isIdle || this.isOver) return;
    if (this.hasBacklog) this.#step.release = 'yield';
    else if (this.#waits.size === 0 && this.state.isFinished) this.#end(this.#ending ?? this.state.end);
    else if (this.#readings === 0 && !this.#waits.hasShort) this.#step.release = 'park';
  }

  /** Sets the output with which the run completes, in place of those of its ends. */
  endWith(output: Json): void {
    this.#ending = { status: 'COMPLETED', output, error: null };
  }

  /** Fails the run, at an attempt of a frame if it is to blame, and cancels its frames that run, wait or repeat their body. */
  fail(error: AppError, at: Attempt | null): void {
    this.#cancelOthers(at?.frame, null);
    const where = { nodeID: at?.frame.node.id ?? null, attempt: at?.attempt ?? null };
    const frame = at && { frame: at.frame.path };
    this.#end({ status: 'FAILED', output: null, error: { ...shownError(error), ...where, ...frame } });
    this.#abort.abort(error);
  }

  /** Ends the run at an end node, and cancels its frames that run, wait or repeat their body. */
  endAt(frame: Frame): void {
    this.#cancelOthers(frame, JSON.stringify({ output: { cancelledBy: frame.node.id } }));
    this.#end(this.state.end);
    this.#abort.abort(new AppError('NODE_FAILED', `The run has ended at node "${frame.node.id}"`));
  }

  /** Ends a test run if it is to stop after this frame, with the output of the frame. Returns whether it has ended. */
  stopAfter(frame: Frame, output: Json): boolean {
    if (this.#testMode.stopAfter !== frame.node.id) return false;
    this.#cancelOthers(frame, JSON.stringify({ output: { cancelledBy: frame.node.id } }));
    this.#end({ status: 'COMPLETED', output, error: null });
    this.#abort.abort(new AppError('NODE_FAILED', `The test has ended after node "${frame.node.id}"`));
    return true;
  }

  /**
   * Fails the run after the database has refused a step. The failure replaces everything else that was to be written. Returns false if
   * that failure is what was refused: it is to be written again.
   */
  refuse(step: Step, error: AppError): boolean {
    if (this.#isRefused) {
      this.#step = step;
      return false;
    }
    this.#isRefused = true;
    this.#step = emptyStep();
    const { frame, attempt = 1 } = step.events.find(({ status }) => status === 'SUCCESS') ?? {};
    this.fail(error, frame ? { frame, attempt } : null);
    return true;
  }

  /** Hands the step over to the committer. After one that ends or releases the run, nothing is added. */
  takeStep(): Step {
    const step = this.#step;
    this.#step = emptyStep();
    this.#isLeaving = step.end !== null || step.release !== 'hold';
    this.#tellStatus(step);
    let seq = this.#seq;
    for (const { started, source } of step.events) {
      seq += 1 + started.length;
      if (source) source.seq = seq;
    }
    if (step.end === null && seq - this.#checkpointSeq >= CHECKPOINT_EVERY[step.release]) {
      step.checkpoint = JSON.stringify(
        this.state.checkpoint({ retrying: this.#waits.retrying, isPaused: step.release === 'park' }),
      );
      this.#checkpointSeq = seq;
    }
    return step;
  }

  /** Takes note that the run waited when it was last held: its next event says that it goes on. */
  goOn(): void {
    this.#isPaused = true;
  }

  /** Tells clients, with the first event of a step, that the run goes on, and with the last that it waits. */
  #tellStatus(step: Step): void {
    const [first] = step.events;
    if (this.#isPaused && first) {
      this.#isPaused = false;
      // The end of a run says enough.
      if (first.frame) first.payload = withField(first.payload, 'goesOn', true);
    }
    if (step.release !== 'park' || this.#isPaused) return;
    const waits = this.#waits.reason;
    const last = step.events.at(-1);
    if (last) last.payload = withField(last.payload, 'waits', waits);
    else this.#tell(step, 'WAITING', withField(null, 'waits', waits));
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

  /** Ends the run in this process; false if it has left already. */
  leave(how: Leaving): boolean {
    if (this.#left) return false;
    this.#left = how;
    this.#waits.stopTimers();
    this.#begun.resolve();
    this.#released.resolve();
    return true;
  }

  #end(end: NonNullable<Step['end']>): void {
    const { status } = end;
    this.#step.end = end;
    this.#tell(this.#step, status, endPayload(end));
  }

  /** Adds an event about the run itself. */
  #tell({ events }: Step, status: RunStatus, payload: string | null): void {
    events.push({ frame: null, attempt: 1, status, exit: null, payload, started: [] });
  }

  #cancelOthers(than: Frame | undefined, payload: string | null): void {
    const waiting = this.#waits.frames;
    // The start of a disabled node was not announced.
    for (const frame of new Set([...this.#running, ...waiting, ...this.state.repeating]))
      if (frame !== than && !frame.node.isDisabled) this.#announce(frame, 'CANCELLED', payload);
    // Selects the statement with waits, which in a terminal commit deletes all waits of the run.
    this.#step.resolved.push(...waiting, ...this.#ended);
    // Not written yet and never needed: the commit cancels only questions that an earlier one has stored.
    Object.assign(this.#step, {
      waits: [],
      requests: [],
      reminders: [],
      maps: [],
      children: [],
      release: 'hold',
      next: [],
    });
  }

  #announce(frame: Frame, status: 'RUNNING' | 'CANCELLED', payload: string | null = null): void {
    this.#step.events.push({ frame, attempt: this.attemptOf(frame), status, exit: null, payload, started: [] });
  }

  /** The same step may hold a wait not yet written. */
  #deleteEndedWait(frame: Frame): void {
    if (!this.#ended.delete(frame)) return;
    this.#step.waits = this.#step.waits.filter((wait) => wait.frame !== frame);
    this.#step.resolved.push(frame);
  }
}

function eventAt(frame: Frame, attempt: number) {
  return { frame, attempt, status: 'SUSPENDED', exit: null, started: [] } satisfies Partial<PendingEvent>;
}
