import { isObject } from '../../../ui/is-object.ts';
import { isSame } from '../../bindings/is-same.ts';

type Row = Readonly<Record<string, unknown>>;

/**
 * Those of the chosen rows that are there, as they stand among the rows now: new data have the same row as another object, with the same
 * key where its values have changed.
 */
export function remainingRows(rows: readonly Row[], chosen: readonly unknown[]): Row[] {
  const left = new Set(rows);
  const key = keyColumnOf(rows);
  return chosen.flatMap((one) => {
    const isIt = (row: Row) => isSame(row, one) || (key !== undefined && isObject(one) && one[key] === row[key]);
    const remaining = left.has(one as Row) ? (one as Row) : left.values().find(isIt);
    if (remaining === undefined) return [];
    // One alone of two rows that are alike was chosen.
    left.delete(remaining);
    return [remaining];
  });
}

const KEY = /^(?:_?id|uuid|key)$/i;
/** Such as `order_id` and `orderID`: as the first column alone, because further ones are those of other things. */
const FIRST_KEY = /_(?:id|uuid|key|no|number)$|[a-z](?:Id|ID)$/;

/** The column by which the same row is known when its other values have changed; undefined where none tells all rows apart. */
function keyColumnOf(rows: readonly Row[]): string | undefined {
  const names = Object.keys(rows[0] ?? {});
  const name = names.find((one) => KEY.test(one)) ?? names.slice(0, 1).find((one) => FIRST_KEY.test(one));
  if (name === undefined) return undefined;
  const values = rows.map((row) => row[name]);
  const isKey = values.every((value) => typeof value === 'string' || typeof value === 'number');
  return isKey && new Set(values).size === rows.length ? name : undefined;
}
