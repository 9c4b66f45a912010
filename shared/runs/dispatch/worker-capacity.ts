import type { Pool } from '../../db/pool.ts';

/** The live workers that take jobs of runs. */
export interface WorkerCapacity {
  workers: number;
  slots: number;
}

/** Condition for the lease of a live worker that takes runs; one without slots serves other queues. */
export const TAKES_RUNS = 'ended_at is null and expires_at > now() and slots > 0';

const FRESH_MS = 1_000;

/** Reads the capacity of all live workers, at most once a second. Only the size of jobs depends on it, so it may be a second old. */
export function createReadCapacity(pool: Pool): () => Promise<WorkerCapacity> {
  let known: Promise<WorkerCapacity> | undefined;
  let freshUntil = 0;

  async function read(): Promise<WorkerCapacity> {
    const { rows } = await pool.query<WorkerCapacity>({ name: 'read_fleet', text: CAPACITY });
    return rows[0] ?? { workers: 0, slots: 0 };
  }

  return () => {
    if (known && performance.now() < freshUntil) return known;
    freshUntil = performance.now() + FRESH_MS;
    const reading = read();
    // A failed read is not cached.
    reading.catch(() => {
      if (known === reading) known = undefined;
    });
    known = reading;
    return reading;
  };
}

const CAPACITY = `
select count(*)::int as workers, coalesce(sum(slots), 0)::int as slots from worker_session where ${TAKES_RUNS}`;
