import { expect, test } from 'vitest';
import { resolveParameters } from '#api/pages/parameters.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';

const declared: JsonObject = {
  region: 'north',
  day: '{{variables.day}}',
  path: 'orders/{{variables.day}}/{{state.page}}.json',
  filter: { region: 'north', from: '{{variables.from}}', sizes: [1, '{{variables.size}}'] },
  open: '{{ not closed',
};
const fixed = { region: 'north', open: '{{ not closed' };

test('a viewer sets what is a template, and what the page fixes stays', () => {
  expect(resolveParameters(declared, {})).toEqual(fixed);
  const given = {
    region: 'north',
    day: { any: ['value'] },
    path: 'orders/2026-03-02/7.json',
    filter: { region: 'north', from: null, sizes: [1, 2] },
  };
  expect(resolveParameters(declared, given)).toEqual({ ...fixed, ...given });
});

test.each<[string, Json, string]>([
  ['region', 'south', 'is fixed by the page'],
  ['region', null, 'is fixed by the page'],
  ['day ', 'today', 'is not a parameter that the page declares'],
  ['toString', 'today', 'is not a parameter that the page declares'],
  ['open', 'closed }}', 'is fixed by the page'],
  ['path', 'secrets/1/2.json', 'is fixed by the page'],
  ['path', 'orders/1.json', 'is fixed by the page'],
  ['path', 'orders/1/2.csv', 'is fixed by the page'],
  ['path', 'orders/.json', 'is fixed by the page'],
  ['path', ['orders/1/2.json'], 'is fixed by the page'],
  ['filter', { region: 'south', from: 1, sizes: [1, 2] }, 'is fixed by the page'],
  ['filter', { from: 1, sizes: [1, 2] }, 'is fixed by the page'],
  ['filter', { region: 'north', from: 1, sizes: [1, 2], more: true }, 'is fixed by the page'],
  ['filter', { region: 'north', sizes: [2, 2] }, 'is fixed by the page'],
  ['filter', { region: 'north', sizes: [1, 2, 3] }, 'is fixed by the page'],
  ['filter', 'north', 'is fixed by the page'],
])('%s as %j is refused', (key, value, message) => {
  expect(() => resolveParameters(declared, { [key]: value })).toThrow(`inputValues.${key}: ${message}`);
});

test('a text of a million openings is read once', () => {
  expect(resolveParameters({ a: '{{'.repeat(500_000) }, {})).toEqual({ a: '{{'.repeat(500_000) });
});
