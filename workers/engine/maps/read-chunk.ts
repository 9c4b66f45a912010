import { LRUCache } from 'lru-cache';
import { AppError } from '#shared/core/errors.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import { bodyGraph } from '#shared/workflow/graph/body.ts';
import type { MapPlan } from '#shared/workflow/map-plan.ts';
import type { Chunk } from '../state/chunk.ts';
import type { LoadedVersion } from '../state/run.ts';

export type ReadChunk = (run: { id: string; map_id: string }) => Promise<Chunk>;

type Surroundings = Pick<Chunk, 'nodeID' | 'scope' | 'scopeLength' | 'plan'>;

/** Length of the cached scopes, as JSON texts. */
const MAX_LENGTH = 32_000_000;

/** Reads chunks. The scope around a map is read once in a process and not for each of its chunks, because it often contains the whole list. */
export function createReadChunk(pool: Pool): ReadChunk {
  const cached = new LRUCache<string, Surroundings>({ max: 1_000, maxSize: MAX_LENGTH });
  /** Reads under way, which the first chunks of a map share. With 50 reads of 100,000 items a run of another tenant waited 1.4 s, with one 0.4 s. */
  const reading = new Map<string, Promise<Surroundings>>();

  function surroundingsOf(mapID: string): Promise<Surroundings> | Surroundings {
    const found = cached.get(mapID) ?? reading.get(mapID);
    if (found) return found;
    const read = readSurroundings(mapID).finally(() => reading.delete(mapID));
    reading.set(mapID, read);
    return read;
  }

  async function readSurroundings(mapID: string): Promise<Surroundings> {
    const { rows } = await pool.query<{ node_id: string; scope: JsonObject; plan: MapPlan; length: number }>({
      name: 'read_map',
      text: 'select node_id, scope, plan, octet_length(scope::text) as length from run_map where id = $1',
      values: [mapID],
    });
    const [row] = rows;
    if (!row) throw new AppError('NOT_FOUND', 'The map of which this run is a chunk no longer exists');
    const found = { nodeID: row.node_id, scope: row.scope, scopeLength: row.length, plan: row.plan };
    cached.set(mapID, found, { size: row.length + 1 });
    return found;
  }

  return async ({ id, map_id: mapID }) => {
    const [surroundings, { rows }] = await Promise.all([
      surroundingsOf(mapID),
      pool.query<{ first: number; items: Json[] }>({
        name: 'read_chunk',
        text: 'select first, items from map_chunk where instance_id = $1',
        values: [id],
      }),
    ]);
    const [row] = rows;
    if (!row) throw new AppError('NOT_FOUND', 'The items of this chunk no longer exist');
    return { mapID, ...surroundings, ...row };
  };
}

/** The version that a chunk executes: only the body of the map. Retries and error handling of the map node are left to the parent run. */
export function versionOfChunk(version: LoadedVersion, { nodeID }: Pick<Chunk, 'nodeID'>): LoadedVersion {
  const node = version.graph.nodes[version.graph.indexOf.get(nodeID) ?? -1];
  if (!node) throw new AppError('NOT_FOUND', `The version has no node "${nodeID}"`);
  const policies = version.policies.map((policy, index) =>
    index === node.index ? { ...policy, errorHandling: undefined, retryLimit: 0 } : policy,
  );
  return { ...version, graph: bodyGraph(version.graph, node), policies };
}
