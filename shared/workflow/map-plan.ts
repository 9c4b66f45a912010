import { z } from 'zod';

/** How a map works off its items, apart from the items. */
export interface MapPlan {
  itemVariable: string;
  indexVariable: string;
  /** Chunks at once; each works off one item after the other. */
  concurrency: number;
  /** Absent: chosen by `chunkSizeOf`. */
  chunkSize?: number;
  collectResults: boolean;
  /** Whether the first failed item fails its chunk at once. Else its result is its error. */
  failsFast: boolean;
  /** So many items may fail; null: all. */
  tolerated: number | null;
}

/** A chunk costs two rows and a claim, so a long list has larger ones. */
const MAX_SIZE = 500;
/** Chunks for each run of the map at once, so that a slow chunk does not leave the others without work. */
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

/** How far a map is, in items; `failed` are among those done. */
export const MapProgress = z
  .object({ done: z.int(), total: z.int(), failed: z.int() })
  .meta({ id: 'MapProgress', description: 'How many items of a map have ended; `failed` of them have failed' });
export type MapProgress = z.infer<typeof MapProgress>;
