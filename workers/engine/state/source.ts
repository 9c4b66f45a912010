import type { Json } from '#shared/core/json.ts';
import type { LargeOutput } from '#shared/messaging/realtime/run-events.ts';

/** An output that has set values, and where it is stored. */
export class Source {
  /** The number of the row with the event, once it has one. */
  seq = 0;
  /** How many keys of scopes have a value of it. */
  uses = 0;
  /** Length of the output as JSON text. */
  readonly length: number;
  /** Null: its values stay with the run. */
  readonly large: Omit<LargeOutput, 'preview'> | null;
  /** Offloaded: scopes do not have its values any more, which are read from the row for a node that names them. */
  isOffloaded = false;
  /** The value of a large output, as long as the process has memory for it. */
  value: Json | undefined;

  constructor(length: number, large: Omit<LargeOutput, 'preview'> | null = null) {
    this.length = length;
    this.large = large;
  }
}
