import { parseJSON } from '#shared/concurrency/parse-json.ts';
import { createSemaphore } from '#shared/concurrency/semaphore.ts';
import { writeLargeParts } from '#shared/concurrency/write-json.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { ClaimedRow, ClaimRow } from '../state/claimed-row.ts';
import { MEMORY_TIMEOUT_MS } from './resident-values.ts';

/** How many runs may have a large input in memory before they begin. Others wait, and their input is not read yet. */
const MAX_CONCURRENT = 2;

/**
 * Calls `load` with the row and its input. A claim leaves large inputs out: those of all claimed runs would be parsed in one round of the
 * event loop, and runs of other tenants would wait for that. Undefined: no permit for a large input became free in time.
 */
export type WithInput = <T>(
  row: ClaimRow,
  creatorID: string,
  load: (row: ClaimedRow) => Promise<T>,
) => Promise<T | undefined>;

export function createWithInput(pool: Pool): WithInput {
  const inputs = createSemaphore({ permits: MAX_CONCURRENT, dynamicLimit: 1 });

  async function read({ id }: ClaimRow): Promise<JsonObject> {
    const { rows } = await pool.query<{ input: string }>({ name: 'read_input', text: READ, values: [id] });
    // Safe: inputs are objects.
    const input = (await parseJSON(rows[0]?.input ?? '{}')) as JsonObject;
    await writeLargeParts(input);
    return input;
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

const READ = 'select input::text as input from workflow_instance where id = $1';
