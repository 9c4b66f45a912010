import type { Caller } from '#shared/caller.ts';
import type { RunError } from '#shared/db/entities/workflow-instance.ts';
import type { Json, JsonObject } from '#shared/json.ts';
import type { Turn } from '#shared/turns.ts';
import { createProgress, type Graph, type Progress } from '#shared/workflow/graph.ts';
import type { NodePolicy, WorkflowOptions } from '#shared/workflow/options.ts';
import type { NodeStatus, RunStatus } from '#shared/workflow/status.ts';
import type { ClaimedRow } from './claim.ts';

/** A version of a workflow as the engine uses it; all its runs share the object. */
export interface LoadedVersion {
  graph: Graph;
  options: WorkflowOptions;
  /** By node index. */
  policies: readonly NodePolicy[];
}

export interface PendingEvent {
  nodeID: string | null;
  iteration: number;
  attempt: number;
  status: NodeStatus | RunStatus;
  exit: string | null;
  /** JSON text of a RunEventPayload, or null. */
  payload: string | null;
}

export interface PendingWait {
  nodeID: string;
  iteration: number;
  kind: 'time' | 'child' | 'input';
  ref: string | null;
  /** Milliseconds from now, by the database's clock. Null: no end. */
  dueInMs: number | null;
}

export interface PendingChild {
  id: string;
  workflowID: string;
  versionID: string;
  nodeID: string;
  input: JsonObject;
  timeoutMs: number;
}

export interface PendingRequest {
  id: string;
  nodeID: string;
  iteration: number;
  config: JsonObject;
  expiresInMs: number | null;
}

/** Changes that the next commit of a run writes. */
export interface Step {
  events: PendingEvent[];
  waits: PendingWait[];
  /** Node ids of waits that are over. */
  resolved: string[];
  children: PendingChild[];
  requests: PendingRequest[];
  release: 'hold' | 'park' | 'yield';
  /** Set by the terminal commit. */
  end: { status: 'COMPLETED' | 'FAILED' | 'CANCELLED'; output: Json; error: RunError | null } | null;
  /** Called once this step is durable. */
  next: (() => void)[];
}

/** The wait of a parked node. */
export interface Waiting {
  kind: 'time' | 'child' | 'input';
  /** A retry runs the node again; any other wait continues it with the fact. */
  purpose: 'park' | 'retry';
  dueAt: number | null;
  timer: NodeJS.Timeout | null;
}

/** A run while this process holds it. */
export interface HeldRun {
  readonly id: string;
  readonly tenantID: string;
  readonly workflowID: string | null;
  readonly epoch: number;
  readonly caller: Caller;
  /** Decides the order in which runs get slots. */
  readonly turn: Turn;
  readonly version: LoadedVersion;
  readonly parentID: string | null;
  readonly depth: number;
  readonly deadlineAt: Date;
  readonly progress: Progress;
  readonly scope: JsonObject;
  readonly abort: AbortController;
  readonly claimedAt: number;
  seq: number;
  seen: number;
  /** Nodes begun since the claim. After its quantum of them a run yields to others that wait. */
  nodesRun: number;
  outputBytes: number;
  readonly failures: Map<number, number>;
  readonly attempts: Map<number, number>;
  readonly running: Set<number>;
  readonly waiting: Map<number, Waiting>;
  /** Nodes whose wait is over. The commit that records their outcome deletes it: until then a crash must find it again. */
  readonly ended: Set<number>;
  /** Nodes that are ready but not started, because the run yields. */
  readonly backlog: number[];
  readonly result: {
    output: JsonObject;
    status: 'success' | 'failure' | 'cancelled';
    nodeID: string | null;
    reached: boolean;
  };
  /** Called after a commit: a run that has lost workers before is then no longer suspect. */
  onProgress: (() => void) | null;
  step: Step;
  committing: boolean;
  /** The last commit of this holder is under way: no changes are added. */
  leaving: boolean;
  /** Reads of waits under way. The run does not park meanwhile, or a fact found by them would be lost. */
  rereading: number;
  /** Why the run left this process; once set, no changes are written. */
  left: 'done' | 'parked' | 'yielded' | 'fenced' | 'drained' | null;
  readonly released: PromiseWithResolvers<void>;
}

export function emptyStep(): Step {
  return { events: [], waits: [], resolved: [], children: [], requests: [], release: 'hold', end: null, next: [] };
}

/** Creates a held run from its claimed row, before any node is executed. */
export function createHeldRun(row: ClaimedRow, version: LoadedVersion, onProgress: (() => void) | null): HeldRun {
  return {
    id: row.id,
    tenantID: row.tenant_id,
    workflowID: row.workflow_id,
    epoch: row.epoch,
    caller: row.caller,
    turn: { tenantID: row.tenant_id, creatorID: row.caller.userID ?? row.caller.id },
    version,
    parentID: row.parent_id,
    depth: row.depth,
    deadlineAt: row.deadline_at,
    progress: createProgress(version.graph),
    scope: { input: row.input },
    abort: new AbortController(),
    claimedAt: Date.now(),
    seq: row.seq,
    seen: row.wake_seq,
    nodesRun: 0,
    outputBytes: 0,
    failures: new Map(),
    attempts: new Map(),
    running: new Set(),
    waiting: new Map(),
    ended: new Set(),
    backlog: [],
    result: { output: {}, status: 'success', nodeID: null, reached: false },
    onProgress,
    step: emptyStep(),
    committing: false,
    leaving: false,
    rereading: 0,
    left: null,
    released: Promise.withResolvers(),
  };
}

/** Whether there is anything to commit. */
export function hasWork(run: HeldRun): boolean {
  const { step } = run;
  return (
    step.events.length > 0 ||
    step.release !== 'hold' ||
    step.end !== null ||
    step.waits.length > 0 ||
    step.next.length > 0
  );
}
