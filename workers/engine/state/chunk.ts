import type { Json, JsonObject } from '#shared/core/json.ts';
import type { MapPlan } from '#shared/workflow/map-plan.ts';

/** A chunk of a map: the part of its items that a run works off. */
export interface Chunk {
  readonly mapID: string;
  /** The node that is the map. */
  readonly nodeID: string;
  /** The scope around the map. Shared by its chunks in this process. */
  readonly scope: JsonObject;
  /** Length of the scope as JSON text. */
  readonly scopeLength: number;
  /** The index of its first item. */
  readonly first: number;
  readonly items: readonly Json[];
  readonly plan: MapPlan;
}
