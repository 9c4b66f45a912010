import { AppError } from '#shared/core/errors.ts';
import type { Json } from '#shared/core/json.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import { resealSecrets } from '#shared/core/schema/secret.ts';
import type { Pool } from '#shared/db/pool.ts';
import { allSealedColumns, type SealedColumn } from '#shared/db/sealed-columns.ts';
import { type SealedRow, sealedRows } from '#shared/db/sealed-rows.ts';

interface RotationOptions {
  secrets: KeyRing;
  logger: Logger;
  /** All columns, except in tests. */
  columns?: readonly SealedColumn[];
}

export interface Rotation {
  /** Rows that are now sealed with the newest key and were not before. */
  resealed: number;
  /** Rows that could not be opened; they are unchanged. */
  failed: number;
}

/**
 * Seals every stored secret with the newest key. A row is written only if it has not changed since it was read, so the service
 * may run meanwhile. Finished rows are skipped, so this may be interrupted and run again.
 */
export async function rotateAllSecrets(
  pool: Pool,
  { secrets, logger, columns = allSealedColumns }: RotationOptions,
): Promise<Rotation> {
  const total: Rotation = { resealed: 0, failed: 0 };
  for (const column of columns) {
    const { resealed, failed } = await rotateColumn(pool, { secrets, column, logger });
    logger.info({ table: column.table, column: column.column, resealed, failed }, 'column resealed');
    total.resealed += resealed;
    total.failed += failed;
  }
  // Caches are filled again on demand, so they are not worth resealing.
  for (const table of ['query_cache', 'result_page']) await pool.query(`delete from ${table}`);
  return total;
}

interface Task {
  secrets: KeyRing;
  column: SealedColumn;
  logger: Logger;
}

async function rotateColumn(pool: Pool, task: Task): Promise<Rotation> {
  const done: Rotation = { resealed: 0, failed: 0 };
  for await (const row of sealedRows(pool, task.column)) {
    const outcome = await rotateRow(pool, row, task);
    if (outcome !== 'current') done[outcome] += 1;
  }
  return done;
}

async function rotateRow(pool: Pool, row: SealedRow, task: Task): Promise<'resealed' | 'failed' | 'current'> {
  const { table, column, type, context } = task.column;
  const write = (value: Json) => (type === 'json' ? JSON.stringify(value) : value);
  for (let { value } = row; value !== null; ) {
    const next = reseal(row.id, value, { ...task, context: context(row.of) });
    if (next === undefined) return 'failed';
    if (write(next) === write(value)) return 'current';
    const { rowCount } = await pool.query(`update ${table} set ${column} = $3 where id = $1 and ${column} = $2`, [
      row.id,
      write(value),
      write(next),
    ]);
    if (rowCount === 1) return 'resealed';
    // The row has changed since it was read.
    const { rows } = await pool.query<Pick<SealedRow, 'value'>>(
      `select ${column} as value from ${table} where id = $1`,
      [row.id],
    );
    value = rows[0]?.value ?? null;
  }
  return 'current';
}

function reseal(
  id: string,
  value: Json,
  { secrets, column, context, logger }: Task & { context: string },
): Json | undefined {
  try {
    return resealSecrets(value, { secrets, context });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    logger.error({ err: error, table: column.table, column: column.column, id }, 'a stored secret cannot be read');
    return undefined;
  }
}
