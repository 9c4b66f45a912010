import { expect, test } from 'vitest';
import { tablesIn } from '#api/bundles/assets/tables.ts';

function tables(query: string, datasourceType = 'tenantdb'): string[] {
  return tablesIn('dataQuery', { datasourceType, dataQueryOptions: { query } });
}

test.each([
  ['select * from orders', ['orders']],
  ['select * from Orders o, "Customers" as c, shop.items where o.id = c.id', ['Customers', 'orders', 'shop.items']],
  [
    'select * from a join b on a.x = b.x left join lateral (select * from c where c.y = a.y) d on true',
    ['a', 'b', 'c'],
  ],
  [
    'with recent as (select * from orders), t (n) as materialized (select 1) select * from recent, t, other',
    ['orders', 'other'],
  ],
  ['insert into orders (id, at) values (1, now()) on conflict (id) do update set at = now()', ['orders']],
  ['update only stock set n = n - 1 from orders where stock.id = orders.item', ['orders', 'stock']],
  ['delete from orders using customers where true returning id', ['customers', 'orders']],
  ['select * from a join b using (id), c', ['a', 'b', 'c']],
  ['select extract(epoch from at), substring(name from 2), trim(both from x) from events for update', ['events']],
  ['select a is distinct from b from generate_series(1, 3) as g', []],
  ["select 'from secrets', $$from others$$ -- from comments\n /* from more */ from real_ones", ['real_ones']],
  ['create table if not exists log (id int); truncate table old_log', ['log', 'old_log']],
  ['select * from information_schema.tables, pg_catalog.pg_class', []],
  ['select * from {{inputs.table}}', []],
  ['select (select max(id) from inner_one), b from outer_one, another', ['another', 'inner_one', 'outer_one']],
  ['select 1', []],
])('%s names its tables', (sql, expected) => {
  expect(tables(sql)).toEqual(expected);
});

test('queries of other databases name no tables of the tenant', () => {
  expect(tables('select * from orders', 'postgresql')).toEqual([]);
});
