import { cellText } from '../../../ui/cell-text.ts';
import { number } from '../page-context.ts';

type Row = Readonly<Record<string, unknown>>;

interface Column {
  key: string;
  type: string;
}

/** How a value is entered. It follows the row as it was, so that a field stays the same one while it is emptied. */
export type FieldKind = 'boolean' | 'number' | 'day' | 'lines' | 'text' | 'none';

export function kindOfField(row: Row, { key, type }: Column): FieldKind {
  const value = valueIn(row, key);
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'number') return 'number';
  // Lists and objects are not changed here.
  if (typeof value === 'object' && value !== null) return 'none';
  if (value === null) return type === 'boolean' || type === 'number' ? type : 'text';
  const words = cellText(value);
  if (type === 'boolean' && /^(?:true|false)$/.test(words)) return 'boolean';
  if (type === 'date' && /^\d{4}-\d\d-\d\d$/.test(words)) return 'day';
  return words.includes('\n') ? 'lines' : 'text';
}

export function valueIn(row: Row, key: string): unknown {
  return Object.hasOwn(row, key) ? (row[key] ?? null) : null;
}

/** The values that differ from the row, and the fields whose text is no number. */
export function changesOf(row: Row, columns: readonly Column[], entered: Row) {
  const changes: Record<string, unknown> = {};
  const faults: Record<string, string> = {};
  for (const column of columns) {
    const { key } = column;
    if (!Object.hasOwn(entered, key)) continue;
    const before = valueIn(row, key);
    const value = given(entered[key], before, kindOfField(row, column));
    if (value === undefined) faults[key] = 'is not a number';
    else if (value !== before) changes[key] = value;
  }
  return { changes, faults };
}

/** An emptied field is null, but an empty text where a text was. Undefined: it is no number. */
function given(value: unknown, before: unknown, kind: FieldKind): unknown {
  if (value === '') return typeof before === 'string' && kind !== 'day' ? '' : null;
  return kind === 'number' ? number(value) : value;
}
