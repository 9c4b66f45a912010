import type { Json, JsonObject } from '#shared/core/json.ts';
import type { MapPlan } from '#shared/workflow/map-plan.ts';

/** A chunk of a map: a part of the map's items, which one child run processes. */
export interface Chunk {
  readonly mapID: string;
  /** The id of the map node in the graph of the workflow. */
  readonly nodeID: string;
  /** The values that the body may read from the `ctx` around the map node. The chunks in this process share the object. */
  readonly scope: JsonObject;
  /** Length of the scope as JSON text. */
  readonly scopeLength: number;
  /** The index, among all items of the map, of the first item of the chunk. */
  readonly first: number;
  readonly items: readonly Json[];
  readonly plan: MapPlan;
}
