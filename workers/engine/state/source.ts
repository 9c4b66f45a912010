import type { Json } from '#shared/core/json.ts';
import type { LargeOutput } from '#shared/messaging/realtime/run-events.ts';

/** The output of a node whose values are in scopes, and the event that stores it. */
export class Source {
  /** The `seq` of the event, known once its commit is built. */
  seq = 0;
  /** How many keys and errors in scopes come from this output. */
  uses = 0;
  /** Length of the output as JSON text. */
  readonly length: number;
  /** The description of a large output, whose values may be offloaded. Null: its values stay in memory with the run. */
  readonly large: Omit<LargeOutput, 'preview'> | null;
  /** Whether the values were removed from the scopes. For a node that names one, it is read from the row of the event. */
  isOffloaded = false;
  /** The value of a large output, as long as the process has memory for it. */
  value: Json | undefined;

  constructor(length: number, large: Omit<LargeOutput, 'preview'> | null = null) {
    this.length = length;
    this.large = large;
  }
}
