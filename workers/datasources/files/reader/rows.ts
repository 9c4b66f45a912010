import type { Json } from '#shared/core/json.ts';
import type { ReadColumn } from '../protocol.ts';

/** Collects rows as JSON, limited in number and size. */
export interface Rows {
  /** Adds a row. Returns whether another is wanted. */
  add(values: readonly Json[]): boolean;
  toJSON(columns: readonly ReadColumn[]): string;
}

const MAX_CHARACTERS = 32 * 1024 * 1024;

export function collectRows(names: readonly string[], maxRows: number): Rows {
  const rows: string[] = [];
  const unique = uniqueNames(names);
  let characters = 0;
  let isTruncated = false;

  return {
    add(values) {
      if (rows.length === maxRows || characters > MAX_CHARACTERS) {
        isTruncated = true;
        return false;
      }
      // `fromEntries` makes own fields, also one with the name `__proto__`.
      const row = JSON.stringify(Object.fromEntries(unique.map((name, index) => [name, values[index] ?? null])));
      characters += row.length;
      rows.push(row);
      return true;
    },
    toJSON(columns) {
      const rest = { columns: columns.map((column, index) => ({ ...column, name: unique[index] ?? column.name })) };
      const counts = { ...rest, rowCount: rows.length, truncated: isTruncated };
      return `{"data":[${rows.join(',')}],${JSON.stringify(counts).slice(1)}`;
    },
  };
}

/** Makes names unique: two columns with one name would be one field. */
export function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    let unique = name;
    for (let n = 2; taken.has(unique); n += 1) unique = `${name}_${n}`;
    taken.add(unique);
    return unique;
  });
}
