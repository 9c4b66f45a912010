import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { diffGraphs } from '#shared/workflow/graph/diff.ts';

const graph = (config: Json, more: JsonObject[] = []) => ({
  nodes: [{ id: 'a', config }, ...more],
  edges: [],
  options: {},
});
const pathsOf = (before: Json, after: Json) => diffGraphs(graph(before), graph(after)).nodes.changed[0]?.paths;

describe('the paths of what differs', () => {
  test('are as deep as the difference, in objects and in lists of one length', () => {
    expect(pathsOf({ a: { b: 1, c: 2 }, d: [1, { e: 1 }] }, { a: { b: 1, c: 3 }, d: [1, { e: 2, f: 0 }] })).toEqual([
      ['config', 'a', 'c'],
      ['config', 'd', 1, 'e'],
      ['config', 'd', 1, 'f'],
    ]);
    expect(pathsOf([1, 2], [1, 2, 3])).toEqual([['config']]);
    expect(pathsOf({ a: 1 }, {})).toEqual([['config', 'a']]);
    expect(pathsOf({ a: [{}], b: null }, { a: [{}], b: null })).toBeUndefined();
  });

  test('end at the twelfth step', () => {
    const deep = (value: Json) => Array.from({ length: 20 }).reduce<Json>((inner) => ({ k: inner }), value);
    expect(pathsOf(deep(1), deep(2))).toEqual([['config', ...Array(11).fill('k')]]);
    expect(pathsOf(deep({ a: 1 }), deep({ a: 1 }))).toBeUndefined();
  });

  test('are at most 100 of a value, which is then named itself', () => {
    const list = (count: number, value: number) => Array(count).fill(value);
    expect(pathsOf({ a: list(100, 1) }, { a: list(100, 2) })).toHaveLength(100);
    expect(pathsOf({ a: list(101, 1), b: 1 }, { a: list(101, 2), b: 2 })).toEqual([
      ['config', 'a'],
      ['config', 'b'],
    ]);
  });

  test('have a bounded number of characters together: then nodes are named without paths', () => {
    const key = 'k'.repeat(1_000);
    const nodes = (value: number) =>
      Array.from({ length: 100 }, (_, n) => ({ id: `n${n}`, [key]: Array(50).fill(value) }));
    const { changed } = diffGraphs(graph({}, nodes(1)), graph({}, nodes(2))).nodes;

    expect(changed).toHaveLength(100);
    expect(changed[0]?.paths).toHaveLength(50);
    expect(changed.at(-1)?.paths).toEqual([[]]);
    expect(JSON.stringify(changed).length).toBeLessThan(1_000_000);
  });
});

test('large graphs that differ at the bottom are compared to their end', () => {
  const parts = (last: number) => [...Array.from({ length: 30_000 }, () => ({ a: 1, b: 'c' })), last];
  const deep = (last: number) => Array.from({ length: 9 }).reduce<Json>((inner) => [inner], parts(last));
  expect(pathsOf(deep(1), deep(2))).toEqual([['config', ...Array(9).fill(0), 30_000]]);
});

test('notes on the canvas are no difference of the options', () => {
  const noted = (text: string, days: number) => ({ ...graph({}), options: { canvas: { notes: [{ text }] }, days } });
  expect(diffGraphs(noted('a', 1), noted('b', 1)).options).toEqual([]);
  expect(diffGraphs(noted('a', 1), noted('b', 2)).options).toEqual([['days']]);
});
