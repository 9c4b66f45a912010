import { z } from 'zod';

/** The settings by which a map processes its items. */
export interface MapPlan {
  itemVariable: string;
  indexVariable: string;
  /** How many chunks run at once. Each processes its items one after the other. */
  concurrency: number;
  /** Absent: chosen by `chunkSizeOf`. */
  chunkSize?: number;
  collectResults: boolean;
  /** Whether the first failed item fails its chunk at once. Otherwise the result of a failed item is its error. */
  failsFast: boolean;
  /** How many items may fail without failing the map; null: all. */
  tolerated: number | null;
}

/** Most items of a chunk. A chunk costs two rows and a claim, so a long list has larger chunks. */
const MAX_SIZE = 500;
/** Chunks for each one that may run at once: with several times as many, a slow chunk does not leave the others without work. */
const CHUNKS_PER_SLOT = 10;
const MAX_CHUNKS = 10_000;

/** The number of items of a chunk. If all items may run at once, each has a chunk of its own. */
export function chunkSizeOf(
  count: number,
  { concurrency, chunkSize }: Pick<MapPlan, 'concurrency' | 'chunkSize'>,
): number {
  const chosen = chunkSize ?? Math.min(MAX_SIZE, Math.ceil(count / (concurrency * CHUNKS_PER_SLOT)));
  return Math.max(1, chosen, Math.ceil(count / MAX_CHUNKS));
}

/** How far a map is, in items. Failed items are counted in `done` too. */
export const MapProgress = z
  .object({ done: z.int(), total: z.int(), failed: z.int() })
  .meta({ id: 'MapProgress', description: 'How many items of a map have ended; `failed` of them have failed' });
export type MapProgress = z.infer<typeof MapProgress>;
