import type { PassSnapshot } from '#shared/workflow/progress/progress.ts';
import type { RepetitionSnapshot } from './repetitions.ts';
import type { ScopeSnapshot } from './scopes.ts';

export const CHECKPOINT_VERSION = 2;
/** Those that are read. In the first, open iterations repeat what the outermost scope was given. */
export const READ_VERSIONS: readonly number[] = [1, CHECKPOINT_VERSION];

/** The state of a run as JSON, with outputs by the numbers of their rows. Another version of the engine ignores what it does not know. */
export interface Checkpoint {
  version: typeof CHECKPOINT_VERSION;
  passes: PassSnapshot[];
  /** The attempts of activations that are not settled. */
  attempts: [nodeID: string, path: string, attempts: number, failures: number][];
  /** Rows whose outputs are still a part of `ctx` or of the result. */
  outputs: number[];
  outputLength: number;
  /** Activations whose wait ends with another attempt. */
  retrying: [nodeID: string, path: string][];
  /** The run waits. */
  isPaused?: true;
  /** How much nodes have written into the log. */
  logs?: [nodeID: string, lines: number, bytes: number][];
  /** The scopes of open iterations, each after the one around it; absent in those of older versions, which know none. */
  scopes?: ScopeSnapshot[];
  /** The repetitions under way, each after the one around it. */
  repetitions?: RepetitionSnapshot[];
}
