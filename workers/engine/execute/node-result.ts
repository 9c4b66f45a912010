import type { AppError } from '#shared/core/errors.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import type { Repeat } from '#shared/messaging/realtime/run-events.ts';
import type { WorkerConfig } from '#shared/process/config.ts';
import type { Activation } from '#shared/workflow/progress/progress.ts';
import type { Pin } from '#shared/workflow/test-mode.ts';
import type { WaitResult } from '../../nodes/executor.ts';
import type { Chunk } from '../state/chunk.ts';
import type { PendingEvent } from '../state/pending-commit.ts';
import type { SizedOutput } from '../state/run-state.ts';
import type { Wait } from '../state/waits.ts';
import type { Parked } from '../waits/park.ts';
import type { AttemptTask } from './task.ts';

/** The result of an attempt, which the reducer applies to the run. `resolved`: the config with its templates filled in, if they were. */
export type NodeResult =
  | Done
  | Failed
  | { kind: 'skipped' }
  | { kind: 'pinned'; pin: Pin }
  /** A dry run has refused this `write`. */
  | { kind: 'write refused'; resolved: unknown; write: string }
  | { kind: 'parks'; parked: Parked }
  | { kind: 'repeats'; resolved: unknown; repeat: Repeat & { items: Json[] }; task: Explains }
  | { kind: 'chunk begins'; chunk: Chunk }
  | { kind: 'chunk done'; items: Extract<WaitResult, { kind: 'iterations' }>; task: Explains }
  | { kind: 'chunk failed'; error: AppError };

/** The attempt has returned an output. The reducer checks it by the exits of the node and the limits of the run. */
export interface Done {
  kind: 'done';
  resolved: unknown;
  output: JsonObject;
  exit: string | null;
  cancelsOthers?: boolean;
  task: Explains;
}

export interface Failed {
  kind: 'failed';
  resolved: unknown;
  error: AppError;
  /** Whether failed items of a map have failed it. Absent: the failure is the node's own. */
  byItems?: boolean;
}

type Explains = Pick<AttemptTask, 'explain'>;

/** The consequence of a result: the activations that its event makes ready, a wait, or null because the run has ended. */
export type Transition = { outcome: PendingEvent; next: readonly Activation[] } | { wait: Wait } | null;

export type Limits = Pick<WorkerConfig, 'nodeOutputMaxBytes' | 'runOutputMaxBytes'> & Pick<SizedOutput, 'largeLength'>;
