import { describe, expect, test } from 'vitest';
import { runSync } from '#shared/concurrency/cooperative.ts';
import { checkGraph, WorkflowEdge, WorkflowNode } from '#shared/workflow/graph/graph.ts';
import { graph, noop } from '#test/support/graphs.ts';

const start = { type: 'start' };
const loop = (more: object = {}) => ({ type: 'loop', sourceVariable: '{{ctx.input.items}}', ...more });

function check(...of: Parameters<typeof graph>) {
  const { nodes, edges } = JSON.parse(JSON.stringify(graph(...of))) as ReturnType<typeof graph>;
  const checked = runSync(checkGraph(WorkflowNode.array().parse(nodes), WorkflowEdge.array().parse(edges)));
  return { ...checked, issues: checked.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) };
}

/** The nodes of each body, by the node that repeats it. */
function bodiesOf(...of: Parameters<typeof graph>): Record<string, string[]> {
  const { graph: compiled, issues } = check(...of);
  expect(issues).toEqual([]);
  const idOf = (index: number) => compiled?.nodes[index]?.id ?? '';
  const regions = compiled?.regions.filter(({ container }) => container !== null) ?? [];
  return Object.fromEntries(regions.map(({ container, nodes }) => [idOf(container ?? -1), nodes.map(idOf).sort()]));
}

describe('a body', () => {
  test('has the nodes behind its exit, up to those that lead nowhere else or back', () => {
    const nodes = { start, loop: loop(), a: noop, b: noop, c: noop, after: noop };
    const edges = ['start>loop', 'loop:loop>a', 'a:yes>b', 'a:default>c', 'loop:completed>after'];

    for (const back of [[], ['b:yes>loop'], ['b:yes>loop', 'c:yes>loop']])
      expect(bodiesOf(nodes, [...edges, ...back])).toEqual({ loop: ['a', 'b', 'c'] });
  });

  test('may have bodies in it, in any order of the nodes', () => {
    const nodes = { start, outer: loop(), before: noop, inner: loop(), a: noop, behind: noop };
    const edges = [
      'a:yes>inner',
      'inner:loop>a',
      'inner:done>behind',
      'behind:yes>outer',
      'before:yes>inner',
      'outer:loop>before',
      'start>outer',
    ];

    for (const all of [Object.entries(nodes), Object.entries(nodes).reverse()])
      expect(bodiesOf(Object.fromEntries(all), edges)).toEqual({ outer: ['before', 'behind', 'inner'], inner: ['a'] });
  });

  test('may be empty', () => {
    expect(bodiesOf({ start, loop: loop() }, ['start>loop'])).toEqual({ loop: [] });
    expect(bodiesOf({ start, loop: loop() }, ['start>loop', 'loop:loop>loop'])).toEqual({ loop: [] });
  });

  test('has no node that can be reached from outside of it as well', () => {
    const nodes = { start, loop: loop(), a: noop, shared: noop };
    const edges = ['start>loop', 'loop:loop>a', 'a:yes>shared', 'loop:completed>shared'];

    expect(check(nodes, edges).issues).toEqual([
      'workflowEdges.3: the edge leads from "loop" into the body of "loop" from outside of it: "shared" can be reached from the body as well',
    ]);
  });

  test('does not end with an edge to a loop further out', () => {
    const nodes = { start, outer: loop(), inner: loop(), a: noop };
    const edges = ['start>outer', 'outer:loop>inner', 'inner:loop>a', 'a:yes>outer'];

    expect(check(nodes, edges).issues).toEqual([
      'workflowEdges.3: the edge leads from the body of "inner" back to "outer", but the body of "inner" has to end first',
    ]);
  });

  test('is the only way back to a node', () => {
    const nodes = { start, loop: loop(), after: noop };

    expect(check(nodes, ['start>loop', 'loop:completed>after', 'after:yes>loop']).issues).toEqual([
      expect.stringMatching(/^workflowNodes\.1: these nodes form a cycle/),
    ]);
  });
});

describe('bodies in bodies', () => {
  function nested(count: number) {
    const ids = Array.from({ length: count }, (_, index) => `l${index}`);
    const edges = ids.map((id, index) => (index === 0 ? `start>${id}` : `l${index - 1}:loop>${id}`));
    return check({ start, ...Object.fromEntries(ids.map((id) => [id, loop()])), last: noop }, [
      ...edges,
      `l${count - 1}:loop>last`,
    ]).issues;
  }

  test('are ten at most', () => {
    expect(nested(10)).toEqual([]);
    expect(nested(11)).toEqual([
      'workflowNodes.11: bodies lie in each other more than 10 levels deep, or have nodes in common',
    ]);
  });

  test('are refused in a large graph, also where they overlap', () => {
    const ids = Array.from({ length: 4_000 }, (_, index) => `l${index}`);
    const shape = graph({ start, ...Object.fromEntries(ids.map((id) => [id, loop()])), last: noop }, [
      'start>l0',
      ...ids.slice(1).flatMap((id, index) => [`l${index}:completed>${id}`, `l${index}:loop>${id}`]),
      'l3999:loop>last',
    ]);
    const nodes = WorkflowNode.array().parse(shape.nodes);
    const edges = WorkflowEdge.array().parse(shape.edges);

    expect(runSync(checkGraph(nodes, edges)).issues.length).toBeGreaterThan(0);
    expect(nested(3_000).length).toBeGreaterThan(0);
  });
});

describe('the config of a loop', () => {
  const issuesIn = (more: object) => check({ start, loop: loop(more) }, ['start>loop']).issues;

  test.each([
    [{ sourceVariable: undefined }, 'sourceVariable'],
    [{ sourceVariable: 'ctx.input.items' }, 'sourceVariable'],
    [{ itemVariable: 'a b' }, 'itemVariable'],
    [{ itemVariable: 'input' }, 'itemVariable'],
    [{ indexVariable: '__index' }, 'indexVariable'],
    [{ itemVariable: 'x', indexVariable: 'x' }, 'indexVariable'],
    [{ outputVariable: 'item' }, 'outputVariable'],
    [{ maxIterations: 0 }, 'maxIterations'],
    [{ maxIterations: 100_001 }, 'maxIterations'],
    [{ delayBetweenItems: -1 }, 'delayBetweenItems'],
    [{ delayBetweenItems: 60_001 }, 'delayBetweenItems'],
    [{ errorHandling: 'retry_then_continue' }, 'errorHandling'],
  ])('%j is refused by the path of the field', (more, field) => {
    expect(issuesIn(more).map((issue) => issue.split(':')[0])).toEqual([`workflowNodes.1.data.${field}`]);
  });

  test.each([{ itemVariable: 'row', indexVariable: 'n' }, { maxIterations: 100_000 }, { errorHandling: 'skip_item' }])(
    '%j is accepted',
    (more) => {
      expect(issuesIn(more)).toEqual([]);
    },
  );
});
