import type { Json, JsonObject } from '#shared/core/json.ts';
import type { MapPlan } from '#shared/workflow/map-plan.ts';

/** What a run works off that is a chunk of a map: a part of its items. */
export interface Chunk {
  readonly mapID: string;
  /** The node that is the map. */
  readonly nodeID: string;
  /** What is around the map. Shared by its chunks in this process. */
  readonly scope: JsonObject;
  /** Of the scope as JSON text. */
  readonly scopeLength: number;
  /** The index of its first item. */
  readonly first: number;
  readonly items: readonly Json[];
  readonly plan: MapPlan;
}
