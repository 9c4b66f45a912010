import { newID } from '#shared/core/ids.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { chunkSizeOf, type MapPlan } from '#shared/workflow/map-plan.ts';
import type { Activation } from '#shared/workflow/progress/progress.ts';
import type { PendingMap } from '../state/pending-commit.ts';
import type { Run } from '../state/run.ts';
import { outputText } from '../values/outputs.ts';
import type { Parked } from '../waits/park.ts';

interface MapToBegin extends MapPlan {
  items: Json[];
  /** The values that the body of the map may read. */
  scope: JsonObject;
}

/** Parks a map node, whose items are processed in chunks. Throws if the items are too large. */
export function parkMap(
  { nodeOutputMaxBytes }: { nodeOutputMaxBytes: number },
  run: Run,
  activation: Activation,
  { items, scope, ...plan }: MapToBegin,
): Parked {
  // Only checks the items. The text that it returns is not needed.
  outputText({ items }, nodeOutputMaxBytes);
  const size = chunkSizeOf(items.length, plan);
  const map: PendingMap = {
    id: newID(),
    activation,
    attempt: run.attemptOf(activation),
    plan,
    scope,
    items,
    size,
    maxResultSize: nodeOutputMaxBytes,
  };
  const progress = { done: 0, total: items.length, failed: 0 };
  return {
    event: { status: 'SUSPENDED', exit: null, payload: JSON.stringify({ wait: 'chunks', mapID: map.id, progress }) },
    wait: { kind: 'chunks', purpose: 'park', ms: null, ref: map.id, map },
  };
}
