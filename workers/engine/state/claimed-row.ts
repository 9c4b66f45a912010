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
  losses: number;
  parent_id: string | null;
  /** The map of which it is a chunk. */
  map_id: string | null;
  depth: number;
  deadline_at: Date;
  caller: Caller;
  input: JsonObject;
  test_mode: TestMode | null;
  /** Characters that it took in memory when it was released last. Null: never, or by an earlier version. */
  held_length: number | null;
}

/** As a claim answers. */
export interface ClaimRow extends Omit<ClaimedRow, 'input'> {
  /** Null: it is large, and read by itself. */
  input: JsonObject | null;
}
