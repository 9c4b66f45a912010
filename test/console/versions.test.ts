/** Differences between two versions of a workflow, as the console tells them. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fieldOfOptions, fieldOfStep, optionNames } from '#ops/console/editor/field-names.ts';
import { changesOf, linesOf } from '#ops/console/editor/version-changes.ts';
import { diffGraphs } from '#shared/workflow/graph/diff.ts';
import { kinds } from './drafts.ts';

const root = join(import.meta.dirname, '../..');

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

  expect(
    changesOf(diff as never, version(before), version(after), kinds).map(({ key: _, ...change }) => change),
  ).toEqual([
    {
      ...{ what: 'Step', name: 'Renamed', verb: 'changed' },
      fields: [
        { field: 'Title', from: 'First', to: 'Renamed' },
        { field: 'N', from: 1, to: 2 },
        { field: 'List', from: [1], to: [1, 2] },
      ],
    },
    { what: 'Step', name: 'c', verb: 'moved', fields: [] },
    { what: 'Step', name: 'New', verb: 'added', fields: [] },
    { what: 'Step', name: 'Gone', verb: 'removed', fields: [] },
    {
      ...{ what: 'Connection', name: 'Renamed → New by “error”', verb: 'changed' },
      fields: [{ field: 'From and to', from: 'First → c', to: 'Renamed → New by “error”' }],
    },
    { what: 'Connection', name: 'First → Gone', verb: 'removed', fields: [] },
    {
      ...{ what: 'Options', name: 'of the workflow', verb: 'changed' },
      fields: [
        { field: 'Class', from: 'batch', to: undefined },
        { field: 'Deep, X', from: 1, to: 2 },
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

  expect(changesOf(diff as never, version(before), version(after), kinds)).toMatchObject([
    { name: 'First', fields: [{ field: 'Result for tests', from: { rows: [1, 2] }, to: { rows: [3] } }] },
  ]);
});

test('fields are called as in the form of their step and in the settings, and names that an author chose as they are', () => {
  expect(fieldOfStep(['data', 'branches', 0, 'conditions', 1, 'leftValue'], kinds.condition)).toBe(
    'Branches 1, Conditions 2, Value',
  );
  expect(fieldOfStep(['data', 'timeoutSeconds'], kinds.http)).toBe('Time limit (s)');
  expect(fieldOfStep(['data', 'inputValues', 'orderID'], kinds.dataQuery)).toBe('Inputs, orderID');
  expect(fieldOfStep(['type'], kinds.http)).toBe('Type');
  expect(fieldOfStep(['data', 'someField'], undefined)).toBe('Some field');
  expect(fieldOfOptions(['inputDefinitions', 1, 'title'])).toBe('Inputs 2, Title');
});

test('every option that two versions may differ in has a name, which is a label of the settings', () => {
  const { schemas } = JSON.parse(readFileSync(join(root, 'ops/openapi.json'), 'utf8')).components;
  const withoutEffect = new Set(['canvas', 'workflowTaskTimeout']);
  const options = Object.keys(schemas.WorkflowOptions.properties).filter((key) => !withoutEffect.has(key));
  expect(Object.keys(optionNames).sort()).toEqual(options.sort());
  const folders = ['ops/console/editor/settings', 'ops/console/inputs'].map((folder) => join(root, folder));
  const sources = folders.flatMap((cwd) =>
    globSync('*.tsx', { cwd }).map((path) => readFileSync(join(cwd, path), 'utf8')),
  );
  const isSaid = (name: string) => sources.some((text) => text.includes(`"${name}"`));
  expect(Object.values(optionNames).filter((name) => !isSaid(name))).toEqual([]);
});
