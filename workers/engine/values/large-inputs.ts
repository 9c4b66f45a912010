import { createSemaphore } from '#shared/concurrency/semaphore.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { ClaimedRow, ClaimRow } from '../state/claimed-row.ts';
import { MEMORY_TIMEOUT_MS } from './resident-values.ts';

/** Runs that have a large input in memory and have not begun yet; the others wait without theirs. */
const MAX_CONCURRENT = 2;

/**
 * Calls `load` with the row and its input. A claim leaves large inputs out: those of all runs in one statement would be parsed in one
 * turn of the event loop, for which the runs of others wait. Undefined: none was free in time.
 */
export type WithInput = <T>(
  row: ClaimRow,
  creatorID: string,
  load: (row: ClaimedRow) => Promise<T>,
) => Promise<T | undefined>;

export function createWithInput(pool: Pool): WithInput {
  const inputs = createSemaphore({ permits: MAX_CONCURRENT, dynamicLimit: 1 });

  async function read({ id }: ClaimRow): Promise<JsonObject> {
    const { rows } = await pool.query<{ input: JsonObject }>({ name: 'read_input', text: READ, values: [id] });
    return rows[0]?.input ?? {};
  }

  return async (row, creatorID, load) => {
    const { input } = row;
    if (input) return load({ ...row, input });
    const release = await inputs.acquirePermit(
      { tenantID: row.tenant_id, creatorID },
      AbortSignal.timeout(MEMORY_TIMEOUT_MS),
    );
    if (!release) return undefined;
    try {
      return await load({ ...row, input: await read(row) });
    } finally {
      release();
    }
  };
}

const READ = 'select input from workflow_instance where id = $1';
