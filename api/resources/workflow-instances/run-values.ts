import type { Pool } from '#shared/db/pool.ts';
import { onPool } from '#shared/db/query.ts';
import type { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import { requireFits, storedSize } from '../../http/fields/page-size.ts';

type Values = Partial<Pick<WorkflowInstance, 'input' | 'output'>>;

/** Stored bytes up to which values are read without a reservation. */
const SMALL_BYTES = 2_000;

/**
 * Reads the output of a run, and its input if it is wanted. Memory for large values is reserved for the calling work
 * before they are read.
 */
export async function readValues(pool: Pool, id: string, { withInput }: { withInput: boolean }): Promise<Values> {
  const columns = withInput ? ['output', 'input'] : ['output'];
  const { rows } = await pool.query<{ stored: number; values: Values | null }>(valuesIf(columns), [id, SMALL_BYTES]);
  const { stored = 0, values } = rows[0] ?? {};
  if (values || stored === 0) return values ?? {};
  await requireFits(onPool(pool), { table: 'workflow_instance', columns, rows: [{ id, stored }] });
  return (
    (await pool.query<Values>(`select ${columns.join(', ')} from workflow_instance where id = $1`, [id])).rows[0] ?? {}
  );
}

const valuesIf = (columns: readonly string[]) => `
select stored, case when stored <= $2 then jsonb_build_object(${columns.map((column) => `'${column}', ${column}`)}) end as values
from (select *, ${storedSize(columns)} as stored from workflow_instance where id = $1) run`;
