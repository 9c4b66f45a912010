import { createTimeSlice } from '../concurrency/cooperative.ts';
import { isJsonObject } from '../core/json.ts';
import type { KeyRing } from '../core/key-ring.ts';
import { keyThatIsMissing, type UnreadableField, unreadableFields } from '../core/schema/unreadable.ts';
import { findDatasourceType } from '../datasources/types/index.ts';
import type { Pool } from '../db/pool.ts';
import { allSealedColumns, type SealedColumn } from '../db/sealed-columns.ts';
import { type SealedRow, sealedRows } from '../db/sealed-rows.ts';

/** A stored secret that no key here opens. */
export interface UnreadableSecret extends UnreadableField {
  column: SealedColumn;
  /** The id of the row. */
  id: string;
  /** Null: it is the deployment's own. */
  tenantID: string | null;
}

interface Row extends SealedRow {
  tenantID: string | null;
  type: string | null;
}

/** Tries every stored secret, in turns with other work. To open 100,000 of them takes 0.6 s of processor time. */
export async function* findUnreadable(
  pool: Pick<Pool, 'query'>,
  secrets: KeyRing,
): AsyncGenerator<UnreadableSecret, void, void> {
  const slice = createTimeSlice();
  for (const column of allSealedColumns)
    for await (const row of rowsOf(pool, column)) {
      if (slice.isOver) await slice.renew();
      for (const field of unreadableIn(row, column, secrets))
        yield { ...field, column, id: row.id, tenantID: row.tenantID };
    }
}

function rowsOf(pool: Pick<Pool, 'query'>, column: SealedColumn): AsyncGenerator<Row, void, void> {
  const { table, datasourceType = 'null', isOfDeployment } = column;
  const tenant = table === 'tenant' ? 'id' : 'tenant_id';
  return sealedRows<Row>(
    pool,
    column,
    `, ${isOfDeployment ? 'null' : tenant} as "tenantID", ${datasourceType} as type`,
  );
}

function unreadableIn({ of, value, type }: Row, column: SealedColumn, secrets: KeyRing): UnreadableField[] {
  const context = column.context(of);
  if (isJsonObject(value)) {
    // Only fields that the schema declares: a client may write a text of this form into any other.
    const definition = findDatasourceType(type ?? '');
    return definition ? unreadableFields(definition.options, value, { secrets, context }) : [];
  }
  const keyID = keyThatIsMissing(value, { secrets, context });
  return keyID === undefined ? [] : [{ path: [], keyID }];
}

/** Counts of unreadable secrets, by kind. */
export type UnreadableCounts = ReadonlyMap<string, number>;

export async function countUnreadable(pool: Pick<Pool, 'query'>, secrets: KeyRing): Promise<UnreadableCounts> {
  const counts = new Map<string, number>();
  for await (const { column } of findUnreadable(pool, secrets))
    counts.set(column.kind, (counts.get(column.kind) ?? 0) + 1);
  return counts;
}

/** A sentence for people; undefined if every secret can be opened. */
export function describeUnreadable(counts: UnreadableCounts): string | undefined {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  const kinds = [...counts].map(([kind, count]) => `${kind}: ${count}`).join(', ');
  const which = total === 1 ? '1 stored secret was' : `${total} stored secrets were`;
  return `${which} sealed with a key that is not here (${kinds}); npm run rotate-secrets -- --report lists them`;
}
