import { expect, test } from 'vitest';
import { runSync } from '#shared/concurrency/cooperative.ts';
import { compileGraph, type Graph, type WorkflowNode } from '#shared/workflow/graph/graph.ts';
import { findReuse, outermostOf } from '#shared/workflow/progress/reuse.ts';
import { withBodies } from '../../../support/bodies.ts';
import { code, graph, noop } from '../../../support/graphs.ts';

const nodes = { start: { type: 'start' }, a: code('1'), b: code('2'), c: code('3'), join: noop, end: { type: 'end' } };
const edges = ['start>a', 'a>b', 'a>c', 'b>join', 'c>join', 'join:yes>end'];

function compiled(more: Record<string, { type: string }> = {}, links: readonly string[] = edges): Graph {
  return compile(graph({ ...nodes, ...more }, links));
}

const before = compiled();

test('of the same graph everything is reusable but the node where it begins and what lies behind it', () => {
  expect(findReuse(before, compiled(), ['b'])).toEqual({ reusable: ['start', 'a', 'c'], changed: [] });
  expect(findReuse(before, compiled(), ['start'])).toEqual({ reusable: [], changed: [] });
  expect(findReuse(before, compiled(), []).reusable).toEqual(['start', 'a', 'b', 'c', 'join', 'end']);
});

test.each([
  ['its config', { c: code('4') }, edges, ['start', 'a', 'b'], ['c', 'join', 'end']],
  [
    'its kind',
    { c: { ...noop } },
    ['start>a', 'a>b', 'a>c', 'b>join', 'c:yes>join', 'join:yes>end'],
    ['start', 'a', 'b'],
    ['c', 'join', 'end'],
  ],
  [
    'what leads into it',
    {},
    ['start>a', 'a>b', 'b>c', 'b>join', 'c>join', 'join:yes>end'],
    ['start', 'a', 'b'],
    ['c', 'join', 'end'],
  ],
  [
    'the exit that leads into it',
    {},
    ['start>a', 'a>b', 'a:error>c', 'b>join', 'c>join', 'join:yes>end'],
    ['start', 'a', 'b'],
    ['c', 'join', 'end'],
  ],
  [
    'a new node before it',
    { new: code('5') },
    ['start>a', 'a>b', 'a>new', 'new>c', 'b>join', 'c>join', 'join:yes>end'],
    ['start', 'a', 'b'],
    ['c', 'join', 'end', 'new'],
  ],
  ['nothing but its title', { c: code('3', { title: 'Third' }) }, edges, ['start', 'a', 'b', 'c', 'join', 'end'], []],
])('a node is as before, or not, by %s', (_what, more, links, reusable, changed) => {
  expect(findReuse(before, compiled(more, links), [])).toEqual({ reusable, changed });
});

test('a node that repeats a body is the same only if its body is, and stands for the nodes in it', () => {
  const links = ['start>a', 'a:error>b', 'b>c', 'a:success>join', 'join:yes>end'];
  const loop = (more = {}) => withBodies(compiled(more, links), 'error', (id) => id === 'a');

  expect(findReuse(loop(), loop(), [])).toEqual({ reusable: ['start', 'a', 'join', 'end'], changed: [] });
  expect(findReuse(loop(), loop({ c: code('4') }), [])).toEqual({ reusable: ['start'], changed: ['a', 'join', 'end'] });
  expect(outermostOf(loop(), 'c')?.id).toBe('a');
  expect(outermostOf(loop(), 'join')?.id).toBe('join');
  expect(outermostOf(loop(), 'none')).toBeUndefined();
});

test('a chain of 5,000 nodes is walked without recursion', () => {
  const ids = Array.from({ length: 4_998 }, (_, n) => `n${n}`);
  const links = ['start>n0', ...ids.slice(1).map((id, n) => `n${n}:yes>${id}`), `${ids.at(-1)}:yes>end`];
  const drawn = graph(
    { start: { type: 'start' }, ...Object.fromEntries(ids.map((id) => [id, noop])), end: { type: 'end' } },
    links,
  );
  const long = compile(drawn);

  expect(findReuse(long, long, ['n4990']).reusable).toHaveLength(4_991);
});

function compile({ nodes: all, edges: links }: ReturnType<typeof graph>): Graph {
  // Their data is written above as JSON.
  return runSync(compileGraph(all as WorkflowNode[], links));
}
