import type { Schemas } from '../../client/types.ts';
import { kindOf, type TableColumn } from '../../database/cells.ts';
import { hasTemplate, labelOf, pathTo } from './plan.ts';

type Table = Schemas['DatabaseTable'];
type Values = Readonly<Record<string, unknown>>;

/** A column of a table, as a page shows and changes it. */
export interface Column {
  name: string;
  label: string;
  /** The name of inputs of queries, and of fields of forms. */
  input: string;
  given: TableColumn;
  isKey: boolean;
  /** The database alone gives it a value. */
  isFilled: boolean;
  /** The text that a new row begins with; undefined if there is none, or if it is not a fixed one. */
  first: string | undefined;
  /** The SQL of a default that is computed, such as `now()`. */
  computed: string | undefined;
}

/** The columns that a page can name: neither expressions nor SQL with inputs can write the others. */
export function columnsOf({ databaseTableColumns, primaryKey }: Table): Column[] {
  const taken = new Set(['search', 'order', 'limit', 'offset', '__proto__', 'prototype', 'constructor']);
  return databaseTableColumns.flatMap((given) => {
    const { databaseTableColumnName: name, defaultValue, isGenerated, isIdentity } = given;
    if (/["\\]|\{\{|\}\}/.test(name)) return [];
    const plain = name.replaceAll(/\W/g, '_').replace(/^(?=\d)/, '_');
    let input = plain;
    for (let count = 2; taken.has(input); count += 1) input = `${plain}_${count}`;
    taken.add(input);
    const isKey = primaryKey.includes(name);
    const first = fixedDefault(defaultValue);
    const isCounted = isIdentity || /^nextval\(/.test(defaultValue ?? '');
    const computed = first === undefined && !isCounted ? (defaultValue ?? undefined) : undefined;
    return [
      {
        ...{ name, label: labelOf(name), input, given, isKey },
        ...{ first: hasTemplate(first) ? undefined : first, computed },
        isFilled: isGenerated || isCounted || hasTemplate(defaultValue) || (isKey && computed !== undefined),
      },
    ];
  });
}

/** The value of a default such as `'open'::text`, `0` or `true`; undefined for one that is computed. */
function fixedDefault(sql: string | null): string | undefined {
  const text = sql?.trim() ?? '';
  const quoted = /^'((?:[^']|'')*)'(?:::[\w\s".(),[\]]+)?$/.exec(text)?.[1];
  if (quoted !== undefined) return quoted.replaceAll("''", "'");
  return /^\(?(-?\d+(?:\.\d+)?|true|false)\)?(?:::[\w\s".(),]+)?$/.exec(text)?.[1];
}

/** Lists and bytes have no field in a form. */
export function hasField({ given }: Column): boolean {
  return !given.isList && given.databaseTableColumnType !== 'bytea';
}

/** Whether rows can be ordered by it: JSON and shapes have no order. */
export function hasOrder({ given }: Column): boolean {
  const kind = kindOf(given);
  return kind !== 'json' && (kind !== 'other' || /^(?:uuid|time|interval|inet)/.test(given.databaseTableColumnType));
}

/** Whether a search looks into it. */
export function isSearched({ given }: Column): boolean {
  const kind = kindOf(given);
  return kind === 'text' || kind === 'enum' || kind === 'number' || given.databaseTableColumnType === 'uuid';
}

const FEW =
  /^(?:state|status|type|kind|category|group|level|priority|role|country|currency|team|plan)$|_(?:state|status|type|kind)$/i;

/** Whether rows can be chosen by its values, of which there are few. */
export function isFilter({ name, given, isKey }: Column): boolean {
  const kind = kindOf(given);
  return !isKey && (kind === 'enum' || kind === 'boolean' || (kind === 'text' && FEW.test(name)));
}

const shownAs: Partial<Record<ReturnType<typeof kindOf>, string>> = {
  boolean: 'boolean',
  enum: 'badge',
  date: 'date',
  time: 'date',
};

/** The column of the table widget. A number that a browser cannot hold stays a text, and so does one that names a row. */
export function shownColumn({ name, label, given, isKey }: Column): Values {
  const { databaseTableColumnType: type } = given;
  const isFew = kindOf(given) === 'text' && FEW.test(name);
  const isExact = /^(?:smallint|integer|real|double precision)$/.test(type) || isShort(type);
  const kind = isFew ? 'badge' : !isKey && !/(?:^|_)id$/i.test(name) && isExact ? 'number' : shownAs[kindOf(given)];
  return { key: name, label, ...(kind && { type: kind }) };
}

/** Fifteen digits are those that a double keeps. */
function isShort(type: string): boolean {
  const digits = /^numeric\((\d+)/.exec(type)?.[1];
  return digits !== undefined && Number(digits) <= 15;
}

const LONG = /(?:^|_)(?:note|notes|comment|comments|description|body|message|content|text|address|reason)$/i;

/** The field of a form: for a new row with what it begins with, or for the row that is chosen in a table. */
export function fieldOf(column: Column, row: string | undefined): Values {
  const { input, label, given, first, computed } = column;
  const { isNullable } = given;
  const kind = kindOf(given);
  const isNew = row === undefined;
  const isCheckbox = kind === 'boolean' && !isNullable;
  const isRequired = !isNullable && !isCheckbox && !(isNew && computed !== undefined);
  const initial = isNew ? (isCheckbox ? first === 'true' : first) : pathTo(row, column.name);
  return {
    key: input,
    label: isNew && computed !== undefined ? `${label} (empty: ${computed})` : hinted(label, kind),
    ...fieldType(column, isCheckbox),
    ...(isRequired && { isRequired: true }),
    ...(initial !== undefined && { defaultValue: initial }),
  };
}

function hinted(label: string, kind: ReturnType<typeof kindOf>): string {
  return kind === 'time' ? `${label} (such as 2026-03-05 14:05:00+01)` : label;
}

function fieldType({ name, given }: Column, isCheckbox: boolean): Values {
  const kind = kindOf(given);
  if (isCheckbox) return { type: 'checkbox' };
  if (kind === 'boolean')
    return {
      type: 'select',
      options: [
        { label: 'Yes', value: true },
        { label: 'No', value: false },
      ],
    };
  if (kind === 'enum') return { type: 'select', options: (given.enumValues ?? []).filter((one) => !hasTemplate(one)) };
  if (kind === 'date') return { type: 'date' };
  if (kind === 'json' || (kind === 'text' && LONG.test(name))) return { type: 'textarea' };
  // Other numbers may have more digits than a browser keeps: they are sent as they are written.
  const isNumber = /^(?:smallint|integer|real|double precision)$/.test(given.databaseTableColumnType);
  return { type: isNumber ? 'number' : 'text' };
}
