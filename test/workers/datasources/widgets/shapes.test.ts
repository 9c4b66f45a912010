import { describe, expect, test } from 'vitest';
import { findWidgetType } from '#shared/apps/widgets/index.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { join, type Part, partOf } from '#workers/datasources/widgets/shapes.ts';

interface Given {
  datasetFields?: Record<string, string>;
  parameters?: JsonObject;
  title?: string;
}

const binding = (result: Json, { datasetFields = {}, parameters = {}, title = '' }: Given = {}) => ({
  result,
  datasetFields,
  parameters,
  title,
});

function typeOf(type: string) {
  return findWidgetType(type) ?? { shape: 'raw' as const, columns: [] };
}

function dataOf(type: string, bound: ReturnType<typeof binding>[]): Json {
  const { shape, columns } = typeOf(type);
  return join(
    shape,
    bound.map((one) => partOf(shape, columns, one)),
  );
}

const monthly = [
  { month: 'Feb', total: '2.50' },
  { month: 'Apr', total: 4 },
  { month: 'Feb', total: null },
  { month: 'Feb', total: 1 },
];

describe.each(['bar', 'line', 'radar'])('%s', (type) => {
  const datasetFields = { xAxis: 'month', yAxis: 'total' };

  test('has the sorted labels of all bindings, and 0 where one has none', () => {
    const data = dataOf(type, [
      binding(monthly, { datasetFields, title: 'Orders', parameters: { color: 'red', label: 'x', data: [9] } }),
      binding([{ month: 'Jan', total: 7 }], { datasetFields, title: 'Returns' }),
    ]);

    expect(data).toEqual({
      labels: ['Apr', 'Feb', 'Jan'],
      datasets: [
        { color: 'red', label: 'Orders', data: [4, 3.5, 0] },
        { label: 'Returns', data: [0, 0, 7] },
      ],
    });
  });
});

describe.each(['pie', 'polarArea'])('%s', (type) => {
  test('has the same shape, of label and value', () => {
    const rows = [
      { state: 'open', n: 3 },
      { state: null, n: 1 },
    ];
    expect(dataOf(type, [binding(rows, { datasetFields: { label: 'state', value: 'n' }, title: 'All' })])).toEqual({
      labels: ['', 'open'],
      datasets: [{ label: 'All', data: [1, 3] }],
    });
  });
});

test('labels that are numbers are sorted as numbers', () => {
  const rows = [10, 9, 100].map((year) => ({ year, n: year }));
  const datasetFields = { xAxis: 'year', yAxis: 'n' };

  expect(dataOf('bar', [binding(rows, { datasetFields })])).toMatchObject({
    labels: [9, 10, 100],
    datasets: [{ data: [9, 10, 100] }],
  });
});

test('scatter has points, and leaves out rows without a number', () => {
  const rows = [
    { a: '1.5', b: 2 },
    { a: null, b: 3 },
    { a: '2026-03-02T09:30:00Z', b: 4 },
  ];
  expect(dataOf('scatter', [binding(rows, { datasetFields: { xAxis: 'a', yAxis: 'b' }, title: 'T' })])).toEqual({
    datasets: [
      {
        label: 'T',
        data: [
          { x: 1.5, y: 2 },
          { x: '2026-03-02T09:30:00Z', y: 4 },
        ],
      },
    ],
  });
});

test('bubble has points with a size', () => {
  const datasetFields = { xAxis: 'a', yAxis: 'b', radius: 'c' };
  expect(dataOf('bubble', [binding({ a: 1, b: 2, c: '3' }, { datasetFields })])).toEqual({
    datasets: [{ label: '', data: [{ x: 1, y: 2, r: 3 }] }],
  });
});

test('table has the rows of each binding', () => {
  expect(dataOf('table', [binding(monthly), binding([])])).toEqual([monthly, []]);
});

test('text joins the first rows, and is empty without rows', () => {
  const datasetFields = { text: 'note' };
  const bound = [
    binding([{ note: 'a' }, { note: 'b' }], { datasetFields, parameters: { size: 2 } }),
    binding([], { datasetFields }),
    binding([{ note: 3 }], { datasetFields }),
  ];
  expect(dataOf('text', bound)).toEqual({
    dataset: [{ size: 2, text: 'a' }, { text: '' }, { text: '3' }],
    text: 'a3',
  });
});

test('a type without a description, and one without a shape, have the raw results', () => {
  for (const type of ['made-up', 'stat', 'vega-lite'])
    expect(dataOf(type, [binding({ any: [1] }), binding('text'), binding(null)])).toEqual([{ any: [1] }, 'text', null]);
});

test('without bindings the shape is empty', () => {
  expect(['bar', 'scatter', 'text', 'table'].map((type) => dataOf(type, []))).toEqual([
    { labels: [], datasets: [] },
    { datasets: [] },
    { dataset: [], text: '' },
    [],
  ]);
});

test('a binding that failed leaves the others, and a gap among raw results', () => {
  const good = binding([{ a: 1, b: 2 }], { datasetFields: { xAxis: 'a', yAxis: 'b' } });
  const joined = (type: string) => {
    const { shape, columns } = typeOf(type);
    const parts: (Part | null)[] = [null, partOf(shape, columns, good)];
    return join(shape, parts);
  };
  expect(joined('bar')).toMatchObject({ labels: [1], datasets: [{ data: [2] }] });
  expect(joined('table')).toEqual([null, [{ a: 1, b: 2 }]]);
});

describe('an error names the field and what was expected', () => {
  test.each<[string, Json, Record<string, string>, string]>([
    ['bar', [{ a: 1 }], { yAxis: 'a' }, 'datasetFields.xAxis: is required: the name of a column of the result'],
    ['bar', [{ a: 1 }], { xAxis: 'a', yAxis: 'n' }, 'datasetFields.yAxis: there is no column "n"; the result has "a"'],
    [
      'bar',
      [{}],
      { xAxis: '__proto__', yAxis: 'n' },
      'datasetFields.xAxis: there is no column "__proto__"; the result has none',
    ],
    [
      'pie',
      [
        { a: 'x', b: 1 },
        { a: 'y', b: 'many' },
      ],
      { label: 'a', value: 'b' },
      'datasetFields.value: expected a number in the column "b", received "many" in row 2',
    ],
    [
      'scatter',
      [{ a: true, b: 1 }],
      { xAxis: 'a', yAxis: 'b' },
      'datasetFields.xAxis: expected a number in the column "a", received "true" in row 1',
    ],
    ['text', 'a text', { text: 'a' }, 'dataQueryID: the result of the query is no list of rows'],
    [
      'bar',
      Array(50_001).fill({ a: 1 }),
      { xAxis: 'a', yAxis: 'a' },
      'dataQueryID: the result has 50001 rows, and a widget shows at most 50000',
    ],
  ])('%s', (type, result, datasetFields, message) => {
    expect(() => dataOf(type, [binding(result, { datasetFields })])).toThrow(message);
  });

  test('a chart with very many labels', () => {
    const rows = Array.from({ length: 10_001 }, (_, a) => ({ a }));
    const datasetFields = { xAxis: 'a', yAxis: 'a' };
    expect(() => dataOf('bar', [binding(rows, { datasetFields })])).toThrow('10001 labels');
  });
});
