import { isObject } from '../ui/is-object.ts';

type Row = Readonly<Record<string, unknown>>;

/** Rows at which a column is recognized. */
const LOOKED_AT = 500;

export interface Chartable {
  rows: readonly Row[];
  /** Columns that can name a row, those that probably do first. */
  labels: readonly string[];
  numbers: readonly string[];
  /** Columns of times, along which a line is drawn. */
  times: ReadonlySet<string>;
}

/** The columns of rows that can be drawn; undefined if they have no column of numbers. */
export function chartable(result: unknown): Chartable | undefined {
  if (!Array.isArray(result) || result.length === 0 || !result.every(isObject)) return undefined;
  const rows: readonly Row[] = result;
  const seen = rows.slice(0, LOOKED_AT);
  const names = Object.keys(rows[0] ?? {});
  const areAll = (name: string, fits: (value: unknown) => boolean) => {
    const values = seen.map((row) => row[name]).filter((value) => value !== null && value !== undefined);
    return values.length > 0 && values.every(fits);
  };
  const numeric = names.filter((name) => areAll(name, (value) => numberOf(value) !== null));
  const times = new Set(names.filter((name) => areAll(name, isTime)));
  const others = names.filter((name) => !numeric.includes(name));
  // A number that names the rows is no figure, if there is another one.
  const isKey = (name: string) => /^id$|_id$|ID$/.test(name);
  const numbers = [...numeric.filter((name) => !isKey(name)), ...numeric.filter(isKey)];
  if (numbers.length === 0) return undefined;
  const labels = [
    ...others.filter((name) => times.has(name)),
    ...others.filter((name) => !times.has(name)),
    ...numeric,
  ];
  return { rows, labels: [...new Set(labels)], numbers, times };
}

/** Numbers that JSON does not hold exactly are texts. */
export function numberOf(value: unknown): number | null {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && /^-?\d+(?:\.\d+)?$/.test(value) ? Number(value) : null;
}

function isTime(value: unknown): boolean {
  return (
    typeof value === 'string' && /^\d{4}-\d\d-\d\d(?:$|[T ]\d\d:\d\d)/.test(value) && !Number.isNaN(Date.parse(value))
  );
}

/** The values along a column of times, in their order. */
export function pointsOf(rows: readonly Row[], time: string, value: string): { at: number; value: number | null }[] {
  return rows
    .flatMap((row) => {
      const at = Date.parse(String(row[time]));
      return Number.isNaN(at) ? [] : [{ at, value: numberOf(row[value]) }];
    })
    .sort((one, other) => one.at - other.at);
}
