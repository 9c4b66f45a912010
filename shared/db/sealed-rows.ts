import { FIRST_ID } from '../core/ids.ts';
import type { Json } from '../core/json.ts';
import type { Pool } from './pool.ts';
import { allSealedColumns, type SealedColumn } from './sealed-columns.ts';

export interface SealedRow {
  id: string;
  /** The id that the context of the value gets. */
  of: string;
  value: Json;
}

const BATCH = 200;

/** The ids of the keys that sealed what is stored, by the name that each sealed value carries. */
export async function findSealingKeys(pool: Pick<Pool, 'query'>): Promise<string[]> {
  const inColumns = allSealedColumns.map(
    ({ table, column }) =>
      `select (regexp_matches(${column}::text, 'gs1\\.([A-Za-z0-9_-]{1,32})\\.', 'g'))[1] as key from ${table}`,
  );
  const { rows } = await pool.query<{ key: string }>(
    `select distinct key from (${inColumns.join(' union all ')}) sealed order by key`,
  );
  return rows.map(({ key }) => key);
}

/** Reads the rows of a sealed column in the order of their ids, a batch at a time. `further`: SQL for more fields, with a comma before each. */
export async function* sealedRows<Row extends SealedRow = SealedRow>(
  pool: Pick<Pool, 'query'>,
  { table, column, of = 'id' }: SealedColumn,
  further = '',
): AsyncGenerator<Row, void, void> {
  for (let after = FIRST_ID; ; ) {
    const { rows } = await pool.query<Row>(
      `select id, ${of} as of, ${column} as value${further} from ${table}
       where id > $1 and ${column} is not null order by id limit ${BATCH}`,
      [after],
    );
    yield* rows;
    const last = rows.at(-1);
    if (!last) return;
    after = last.id;
  }
}
