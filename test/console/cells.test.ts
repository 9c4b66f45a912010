/** Values of rows, as the fields of a form take and show them. */
import { describe, expect, test } from 'vitest';
import { entryOf, isNeeded, kindOf, type TableColumn, usualWords, valueOfEntry } from '#ops/console/database/cells.ts';
import { readCSV, rowsOfFile } from '#ops/console/database/csv.ts';
import { rowsOfCells, tableOfCells } from '#ops/console/database/table-of-cells.ts';

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
    expect(usualWords(column('int', { isIdentity: true }))).toBe('leave it empty: the database numbers the rows');
    expect(usualWords(column('int', { defaultValue: "nextval('a'::regclass)" }))).toBe(
      'leave it empty: the database numbers the rows',
    );
    expect(usualWords(column('date', { defaultValue: 'now()' }))).toBe('default: now()');
    expect(usualWords(column('date'))).toBe('optional');
    expect(isNeeded(column('date', { isNullable: false }))).toBe(true);
    expect(isNeeded(column('date', { isNullable: false, defaultValue: 'now()' }))).toBe(false);
  });
});

describe('a CSV file', () => {
  test('is read with quotes, lines within them, and the separator of its first line', () => {
    expect(readCSV('\uFEFFa,b\r\n1,"x, ""y""\nz"\r\n\r\n,2\r\n')).toEqual([
      ['a', 'b'],
      ['1', 'x, "y"\nz'],
      ['', '2'],
    ]);
    expect(readCSV('"a,b";c\n1;')).toEqual([
      ['a,b', 'c'],
      ['1', ''],
    ]);
    expect(readCSV('a\tb\n"1"x\t2')).toEqual([
      ['a', 'b'],
      ['1x', '2'],
    ]);
    expect(readCSV('')).toEqual([]);
    expect(() => readCSV('a\n"1')).toThrow('not closed');
  });

  const named = (databaseTableColumnName: string, type: string, more: Partial<TableColumn> = {}) =>
    column(type, { databaseTableColumnName, ...more });
  const columns = [
    named('id', 'bigint', { isIdentity: true, isNullable: false }),
    named('Title', 'text', { isNullable: false }),
    named('sold', 'boolean'),
    named('price', 'numeric'),
  ];

  test('fills the columns that its first line names, and no value where a cell is empty', () => {
    const {
      rows,
      columns: filled,
      leftOut,
    } = rowsOfFile('title,maker, SOLD,price\nBolt,ACME,yes,1.50\nNut,,0,\n', columns);
    expect(rows).toEqual([
      { Title: 'Bolt', sold: true, price: 1.5 },
      { Title: 'Nut', sold: false },
    ]);
    expect([filled, leftOut]).toEqual([['Title', 'sold', 'price'], ['maker']]);
  });

  test.each([
    ['', 'There are no rows'],
    ['a,b\n1,2', 'must name columns of the table; it has a, b'],
    ['title,Title\n1,2', 'names a column twice'],
    ['sold\ntrue', 'The first line lacks columns that the table requires: Title'],
    ['title,sold\nBolt,yes\nNut,perhaps', 'Row 3: sold: expected true or false, or yes or no, and not “perhaps”'],
    ['title\nBolt,1', 'Row 2 has 2 cells, and the first line 1'],
  ])('%j is refused', (text, message) => {
    expect(() => rowsOfFile(text, columns)).toThrow(message);
  });
});

describe('a table of cells', () => {
  test('has the columns that the first line names, with types of all their values, and their rows', () => {
    const text =
      'Order no.\tName\tAmount\tPaid\tZIP\tDay\n7\tAda\t1.50\tyes\t01234\t2026-03-05\n8\tBen\t2\tno\t99999\t\n';
    const { columns, lines } = tableOfCells(text);
    expect(columns.map(({ name, type }) => `${name} ${type}`)).toEqual([
      ...['order_no bigint', 'name text', 'amount numeric', 'paid boolean', 'zip text', 'day date'],
    ]);
    const renamed = columns.filter(({ name }) => name !== 'paid').map((one) => ({ ...one, name: `${one.name}1` }));
    expect(rowsOfCells(lines, renamed)).toEqual([
      { order_no1: 7, name1: 'Ada', amount1: 1.5, zip1: '01234', day1: '2026-03-05' },
      { order_no1: 8, name1: 'Ben', amount1: 2, zip1: '99999' },
    ]);
  });

  test.each([
    ['id,a\n1,x\n2,y', [true, false]],
    ['id,a\n1,x\n1,y', [false, false]],
    ['id,a\n1,x\n,y', [false, false]],
  ])('%j has a key where every line has its own', (text, keys) => {
    expect(tableOfCells(text).columns.map(({ primaryKey }) => primaryKey)).toEqual(keys);
  });

  test('gives every column a name of its own', () => {
    expect(tableOfCells('a,A,,Größe\n1,2,3,4').columns.map(({ name }) => name)).toEqual([
      ...['a', 'a_2', 'column_3', 'große'],
    ]);
  });
});
