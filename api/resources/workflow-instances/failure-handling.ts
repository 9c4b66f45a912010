import type { z } from 'zod';
import type { Pool } from '#shared/db/pool.ts';
import type { FailureHandling } from './schemas.ts';

/** The handling of a run's failure; undefined if its workflow had no `onFailure`. */
export async function findFailureHandling(
  pool: Pool,
  instanceID: string,
): Promise<z.input<typeof FailureHandling> | undefined> {
  const { rows } = await pool.query<z.input<typeof FailureHandling>>({
    name: 'failure_handling',
    text: FIND,
    values: [instanceID],
  });
  return rows[0];
}

const FIND = `
select handler_id as "workflowID", handler_instance_id as "instanceID", error from run_failure where instance_id = $1`;
