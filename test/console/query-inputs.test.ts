/** Inputs that the texts of a query name, and what of an answer can be drawn. */
import { describe, expect, test } from 'vitest';
import { chartable, pointsOf } from '#ops/console/query/chart-data.ts';
import { foundInputs, unusedInputs, withInputs, withOneDefault } from '#ops/console/query/inputs-in.ts';

const column = (name: string, type: string) => ({ name, type });
const tables = {
  public: {
    orders: [
      ...[column('id', 'bigint'), column('total', 'numeric(10,2)'), column('is_paid', 'boolean')],
      ...[column('tags', 'text[]'), column('details', 'jsonb'), column('waits', 'interval'), column('status', 'text')],
    ],
  },
  other: { orders: [column('status', 'integer')] },
};

describe('inputs found in a query', () => {
  test.each([
    ['select * from orders where total > {{inputs.least}}', 'least', 'number'],
    ['select * from orders o where o.is_paid = {{ inputs.paid }}', 'paid', 'boolean'],
    ['select * from orders where "total" between {{inputs.a}} and {{inputs.b}}', 'b', 'number'],
    ['select * from orders where tags = {{inputs.tags}}', 'tags', 'array'],
    ['update orders set details = {{inputs.more}}', 'more', 'object'],
    ['insert into orders (total) values ({{inputs.total}})', 'total', 'number'],
    ['insert into orders (is_paid) values ({{inputs.isPaid}})', 'isPaid', 'boolean'],
    ['select * from orders limit {{inputs.count}}', 'count', 'number'],
    ['select {{inputs.day}}::date', 'day', 'string'],
    ['select {{inputs["of whom"]}}::int', 'of whom', 'number'],
    ['select * from orders where waits < {{inputs.time}}', 'time', 'string'],
    // Two tables do not agree about it.
    ['select * from orders where status = {{inputs.status}}', 'status', 'string'],
    ['select {{inputs.customer?.name}}', 'customer', 'string'],
  ])('%s', (query, key, type) => {
    expect(foundInputs({ query }, tables)).toContainEqual({ key, type });
  });

  test('each is found once, in any text; declared ones, and those of code, are not', () => {
    const options = {
      url: '/orders/{{inputs.id}}',
      headers: [{ key: 'x', value: '{{inputs.trace}} {{inputs.id}}' }],
      transform: 'return "{{inputs.none}}";',
      inputDefinitions: [{ key: 'trace' }, { key: 'idle' }],
    };
    expect(foundInputs(options)).toEqual([{ key: 'id', type: 'string' }]);
    expect(unusedInputs(options)).toEqual(['idle']);
    expect(withInputs(options, foundInputs(options)).inputDefinitions).toEqual([
      { key: 'trace' },
      { key: 'idle' },
      { key: 'id', type: 'string' },
    ]);
    expect(foundInputs({ query: 'select {{ctx.inputs.no}}, {{inputs}}, inputs.no' })).toEqual([]);
  });

  test('a default under its second name comes under its first', () => {
    const { inputDefinitions } = withOneDefault({
      inputDefinitions: [{ key: 'a', defaultValue: 1 }, { key: 'b', default: 2, defaultValue: 3 }, { key: 'c' }],
    });
    expect(inputDefinitions).toEqual([{ key: 'a', default: 1 }, { key: 'b', default: 2 }, { key: 'c' }]);
  });
});

test('figures are drawn along times, else by what names the rows; an id is no figure where there is another', () => {
  const rows = [
    { id: 1, total: '9.90', at: '2026-03-02', name: 'Ann' },
    { id: 2, total: null, at: '2026-03-01', name: 'Bob' },
  ];
  expect(chartable(rows)).toMatchObject({ labels: ['at', 'name', 'id', 'total'], numbers: ['total', 'id'] });
  expect(pointsOf(rows, 'at', 'total').map(({ value }) => value)).toEqual([null, 9.9]);
  for (const none of [[], [{ name: 'Ann' }], 'text', [1]]) expect(chartable(none)).toBeUndefined();
});
