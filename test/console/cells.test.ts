/** Values of rows, as the fields of a form take and show them. */
import { describe, expect, test } from 'vitest';
import { entryOf, isNeeded, kindOf, type TableColumn, usualWords, valueOfEntry } from '#ops/console/database/cells.ts';

function column(type: string, more: Partial<TableColumn> = {}): TableColumn {
  return {
    ...{
      databaseTableColumnName: 'one',
      databaseTableColumnType: type,
      isList: false,
      isNullable: true,
      notNull: false,
    },
    ...{ defaultValue: null, isGenerated: false, isIdentity: false, enumValues: null, unique: false },
    ...{ primaryKey: false, check: null, ...more },
  };
}

describe('a field for a column', () => {
  test.each([
    ['text', {}, 'text'],
    ['character varying(20)', {}, 'text'],
    ['uuid', {}, 'other'],
    ['interval', {}, 'other'],
    ['timestamp without time zone', {}, 'other'],
    ['timestamp(3) with time zone', {}, 'time'],
    ['date', {}, 'date'],
    ['numeric(10,2)', {}, 'number'],
    ['boolean', {}, 'boolean'],
    ['jsonb', {}, 'json'],
    ['text[]', { isList: true }, 'json'],
    ['colour', { enumValues: ['red'] }, 'enum'],
  ] as const)('%s', (type, more, kind) => {
    expect(kindOf(column(type, more as Partial<TableColumn>))).toBe(kind);
  });

  test('values go through it unchanged; a number that a double does not hold stays a text', () => {
    for (const [type, value] of [
      ['text', ''],
      ['text', '12'],
      ['bigint', '9007199254740993'],
      ['bigint', 7],
      ['numeric', 1.5],
      ['boolean', false],
      ['jsonb', { a: [1] }],
      ['jsonb', 'a text'],
      ['numeric', 'NaN'],
      ['uuid', null],
    ] as const)
      expect(valueOfEntry(column(type), entryOf(column(type), value) ?? null)).toEqual(value);
    expect(() => valueOfEntry(column('jsonb'), '{')).toThrow(/^one: /);
  });

  test('it says what an empty one means', () => {
    expect(usualWords(column('int', { isIdentity: true }))).toBe('counted by the database');
    expect(usualWords(column('int', { defaultValue: "nextval('a'::regclass)" }))).toBe('counted by the database');
    expect(usualWords(column('date', { defaultValue: 'now()' }))).toBe('default: now()');
    expect(usualWords(column('date'))).toBe('empty: null');
    expect(isNeeded(column('date', { isNullable: false }))).toBe(true);
    expect(isNeeded(column('date', { isNullable: false, defaultValue: 'now()' }))).toBe(false);
  });
});
