import { isSame } from '../../bindings/is-same.ts';

/** Those of the chosen rows that are there, as they stand among the rows now: new data have the same row as another object. */
export function remainingRows<Row>(rows: readonly Row[], chosen: readonly unknown[]): Row[] {
  const left = new Set(rows);
  return chosen.flatMap((one) => {
    const remaining = left.has(one as Row) ? (one as Row) : left.values().find((row) => isSame(row, one));
    if (remaining === undefined) return [];
    // One alone of two rows that are alike was chosen.
    left.delete(remaining);
    return [remaining];
  });
}
