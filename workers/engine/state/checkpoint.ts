import type { PassSnapshot } from '#shared/workflow/progress/progress.ts';
import type { RepetitionSnapshot } from './repetitions.ts';
import type { ScopeSnapshot } from './scopes.ts';

export const CHECKPOINT_VERSION = 2;
/** The versions that a restore reads. In version 1, the scopes of open iterations repeat the values given to the outermost scope. */
export const READ_VERSIONS: readonly number[] = [1, CHECKPOINT_VERSION];

/** The state of a run as JSON. It has the numbers of the events with outputs, not the outputs. A checkpoint of an unknown version is ignored. */
export interface Checkpoint {
  version: typeof CHECKPOINT_VERSION;
  passes: PassSnapshot[];
  /** The attempts of activations that are not settled. */
  attempts: [nodeID: string, path: string, attempts: number, failures: number][];
  /** The numbers of events whose outputs are still a part of `ctx` or of the result. */
  outputs: number[];
  outputLength: number;
  /** Activations whose wait ends with another attempt. */
  retrying: [nodeID: string, path: string][];
  /** The run waits. */
  isPaused?: true;
  /** How much nodes have written into the log. */
  logs?: [nodeID: string, lines: number, bytes: number][];
  /** The scopes of open iterations, outer ones first. Absent: none is open, or an earlier version wrote the checkpoint. */
  scopes?: ScopeSnapshot[];
  /** The repetitions under way, outer ones first. */
  repetitions?: RepetitionSnapshot[];
}
