/** Differences between two versions of a workflow, as the console tells them. */
import { expect, test } from 'vitest';
import { changesOf, linesOf } from '#ops/console/editor/version-changes.ts';
import { diffGraphs } from '#shared/workflow/graph/diff.ts';

const node = (id: string, data: object, x = 0) => ({ id, type: 'set', position: { x, y: 0 }, data });
const edge = (id: string, source: string, target: string, sourceHandle?: string) => ({
  ...{ id, source, target },
  ...(sourceHandle && { sourceHandle }),
});

test('a version says what it changed, from what to what, in the titles of steps', () => {
  const before = {
    nodes: [node('a', { title: 'First', n: 1, list: [1] }), node('b', { title: 'Gone' }), node('c', {}), node('d', {})],
    edges: [edge('e', 'a', 'b'), edge('f', 'a', 'c')],
    options: { class: 'batch', deep: { x: 1 } },
  };
  const after = {
    nodes: [
      node('a', { title: 'Renamed', n: 2, list: [1, 2] }),
      node('c', {}, 9),
      node('d', {}),
      node('n', { title: 'New' }),
    ],
    edges: [edge('f', 'a', 'n', 'error')],
    options: { deep: { x: 2 } },
  };
  const version = ({ nodes, edges, options }: typeof before | typeof after) => ({
    ...{ workflowNodes: nodes, workflowEdges: edges, workflowOptions: options },
  });
  const diff = diffGraphs(before as never, after as never);

  expect(changesOf(diff as never, version(before), version(after)).map(({ key: _, ...change }) => change)).toEqual([
    {
      ...{ what: 'Step', name: 'Renamed', verb: 'changed' },
      fields: [
        { field: 'title', from: 'First', to: 'Renamed' },
        { field: 'n', from: 1, to: 2 },
        { field: 'list', from: [1], to: [1, 2] },
      ],
    },
    { what: 'Step', name: 'c', verb: 'moved', fields: [] },
    { what: 'Step', name: 'New', verb: 'added', fields: [] },
    { what: 'Step', name: 'Gone', verb: 'removed', fields: [] },
    {
      ...{ what: 'Connection', name: 'Renamed → New by “error”', verb: 'changed' },
      fields: [{ field: 'way', from: 'First → c', to: 'Renamed → New by “error”' }],
    },
    { what: 'Connection', name: 'First → Gone', verb: 'removed', fields: [] },
    {
      ...{ what: 'Options', name: 'of the workflow', verb: 'changed' },
      fields: [
        { field: 'class', from: 'batch', to: undefined },
        { field: 'deep.x', from: 1, to: 2 },
      ],
    },
  ]);
});

test('code is compared line by line, with two lines around and within bounds', () => {
  const code = (change: string) => [1, 2, 3, 4, change, 6, 7, 8, 9].join('\n');

  expect(linesOf({ from: code('old'), to: code('new') })).toEqual([' 3', ' 4', '-old', '+new', ' 6', ' 7']);
  expect(linesOf({ from: 'one\ntwo', to: 'one\ntwo\n' })).toEqual([' one', '-two', '+two']);
  expect(linesOf({ from: 'one', to: 'two' })).toBeUndefined();
  expect(linesOf({ from: 1, to: 'two\n' })).toBeUndefined();
  const other = (mark: string, count: number) => Array.from({ length: count }, (_, n) => `${mark}${n}`).join('\n');
  expect(linesOf({ from: other('a', 150), to: other('b', 150) })).toHaveLength(201);
  expect(linesOf({ from: other('a', 5_000), to: other('b', 5_000) })).toBeUndefined();
});

test('a pinned result that is changed is told as a whole', () => {
  const pinned = (output: object) => ({
    ...{ edges: [], options: {} },
    nodes: [{ id: 'a', type: 'log', data: { title: 'First' }, pinned: { output } }],
  });
  const version = ({ nodes, edges, options }: ReturnType<typeof pinned>) => ({
    ...{ workflowNodes: nodes, workflowEdges: edges, workflowOptions: options },
  });
  const [before, after] = [pinned({ rows: [1, 2] }), pinned({ rows: [3] })];
  const diff = diffGraphs(before as never, after as never);

  expect(changesOf(diff as never, version(before), version(after))).toMatchObject([
    { name: 'First', fields: [{ field: 'result for tests', from: { rows: [1, 2] }, to: { rows: [3] } }] },
  ]);
});
