/** SQL that is written from the columns of a table. */
import { expect, test } from 'vitest';
import type { Schemas } from '#ops/console/client/types.ts';
import { writtenSQL } from '#ops/console/query/written-sql.ts';

const column = (databaseTableColumnName: string, more: object = {}) => ({
  ...{ databaseTableColumnName, databaseTableColumnType: 'text', isGenerated: false, isIdentity: false },
  ...{ defaultValue: null, ...more },
});
const table = (name: string, primaryKey: string[], columns: object[], schema = 'public') =>
  ({
    ...{ databaseSchemaName: schema, databaseTableName: name, primaryKey, databaseTableColumns: columns },
  }) as unknown as Schemas['DatabaseTable'];

const orders = table(
  'orders',
  ['id'],
  [
    ...[
      column('id', { isIdentity: true }),
      column('customer'),
      column('amount'),
      column('made', { defaultValue: 'now()' }),
    ],
    column('total', { isGenerated: true }),
  ],
);

test('a row is read, inserted without what the database fills, changed and deleted by its key', () => {
  expect(writtenSQL('read', orders)).toBe(
    'select id, customer, amount, made, total\nfrom orders\norder by id\nlimit 100',
  );
  expect(writtenSQL('insert', orders)).toBe(
    'insert into orders (customer, amount)\nvalues ({{inputs.customer}}, {{inputs.amount}})\nreturning *',
  );
  expect(writtenSQL('update', orders)).toBe(
    'update orders\nset customer = {{inputs.customer}},\n    amount = {{inputs.amount}},\n    made = {{inputs.made}}\nwhere id = {{inputs.id}}\nreturning *',
  );
  expect(writtenSQL('delete', orders)).toBe('delete from orders\nwhere id = {{inputs.id}}');
});

test('names that SQL does not take as they are stand in quotes, and inputs have names of their own', () => {
  const odd = table('order', ['Order no', 'user'], [column('Order no'), column('user'), column('say "hi"')], 'sales');
  expect(writtenSQL('delete', odd)).toBe(
    'delete from sales."order"\nwhere "Order no" = {{inputs.Order_no}} and "user" = {{inputs.user}}',
  );
  const text = writtenSQL('insert', odd);
  expect(text).toContain('"say ""hi"""');
  expect(text.match(/(?<=inputs\.)\w+/g)).toEqual(['Order_no', 'user', 'say__hi_']);
});

test.each(['left', 'right', 'full', 'like', 'is', 'some', 'cast', 'collation', 'localtime', 'current_user', 'values'])(
  'a table and a column that are called %s stand in quotes',
  (name) => {
    expect(writtenSQL('delete', table(name, [name], [column(name)]))).toBe(
      `delete from "${name}"\nwhere "${name}" = {{inputs.${name}}}`,
    );
  },
);

test('a table whose columns the database fills all is inserted into without values', () => {
  expect(writtenSQL('insert', table('ticks', ['id'], [column('id', { isIdentity: true })]))).toBe(
    'insert into ticks default values\nreturning *',
  );
});

test('a row of a table whose columns are all of its key gets another key', () => {
  const members = table('members', ['team', 'person'], [column('team'), column('person')]);
  expect(writtenSQL('update', members)).toBe(
    'update members\nset team = {{inputs.new_team}},\n    person = {{inputs.new_person}}\nwhere team = {{inputs.team}} and person = {{inputs.person}}\nreturning *',
  );
});
