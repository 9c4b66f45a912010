import type { Caller } from '#shared/core/caller.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { TestMode } from '#shared/workflow/test-mode.ts';

export interface ClaimedRow {
  id: string;
  tenant_id: string;
  workflow_id: string | null;
  version_id: string;
  epoch: number;
  seq: number;
  wake_seq: number;
  /** How many workers were lost while they executed a node of the run, without progress of the run in between. */
  losses: number;
  parent_id: string | null;
  /** The map of which the run is a chunk; null for other runs. */
  map_id: string | null;
  depth: number;
  deadline_at: Date;
  caller: Caller;
  input: JsonObject;
  test_mode: TestMode | null;
  /** Characters that the run took in memory when it was last released. Null: it never was, or by a worker of an earlier version. */
  held_length: number | null;
}

/** The row that a claim returns. */
export interface ClaimRow extends Omit<ClaimedRow, 'input'> {
  /** Null: the input is large, and another statement reads it. */
  input: JsonObject | null;
}
