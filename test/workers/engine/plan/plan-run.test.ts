import { expect, test } from 'vitest';
import { runSync } from '#shared/concurrency/cooperative.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { compileGraph, WorkflowEdge, WorkflowNode } from '#shared/workflow/graph/graph.ts';
import { nodePolicy, WorkflowOptions } from '#shared/workflow/options.ts';
import { code, graph } from '#test/support/graphs.ts';
import { planRun } from '#workers/engine/plan/plan-run.ts';

type Nodes = Parameters<typeof graph>[0];

async function planned(nodes: Nodes, edges: readonly string[], input: JsonObject = {}) {
  const shape = graph({ start: { type: 'start' }, ...nodes }, edges);
  const compiled = runSync(
    compileGraph(WorkflowNode.array().parse(shape.nodes), WorkflowEdge.array().parse(shape.edges)),
  );
  const options = WorkflowOptions.parse({});
  const policies = compiled.nodes.map((node) => nodePolicy(node, options));
  const version = { creatorID: 'x', author: null, graph: compiled, options, policies };
  const plan = await planRun(version, input, new AbortController().signal);
  const of = (id: string) => plan.nodes.find(({ nodeID }) => nodeID === id);
  const reached = Object.fromEntries(plan.nodes.map(({ nodeID, isReached }) => [nodeID, isReached]));
  return { ...plan, of, reached };
}

const call = (url = 'http://example.test/', outputVariable = 'answer') => ({ type: 'http', url, outputVariable });
const asks = (leftValue: string, rightValue: unknown = 'yes') => ({
  type: 'condition',
  branches: [{ id: 'yes', conditions: [{ operator: 'equals', leftValue, rightValue }] }],
});

test('branches on the input are decided, with the values that follow from it', async () => {
  const plan = await planned(
    {
      values: { type: 'set', assignments: [{ name: 'size', value: '{{ctx.input.size}}' }] },
      large: asks('{{ctx.size}}', 'L'),
      truck: call('http://example.test/{{ctx.size}}/{{ctx.input.to.city}}'),
      bike: call(),
    },
    ['start>values', 'values>large', 'large:yes>truck', 'large:default>bike'],
    { size: 'L', to: { city: 'Rome' } },
  );

  expect(plan.reached).toEqual({ start: 'yes', values: 'yes', large: 'yes', truck: 'yes', bike: 'no' });
  expect(plan.of('large')).toMatchObject({ exit: 'yes', values: [{ path: expect.any(String), value: 'L' }] });
  expect(plan.of('truck')?.values).toEqual([{ path: 'url', value: 'http://example.test/L/Rome' }]);
  expect(plan.edges.map(({ isTaken }) => isTaken)).toEqual(['yes', 'yes', 'yes', 'no']);
});

test('branches on what a node gives depend on that node, through all that is computed from it', async () => {
  const plan = await planned(
    {
      call: call(),
      values: { type: 'set', assignments: [{ name: 'state', value: '{{ctx.answer.state}}' }] },
      paid: asks('{{ctx.state}}', 'paid'),
      ship: call('http://example.test/{{ctx.input.id}}/{{ctx.state}}', 'shipped'),
      after: asks('{{ctx.shipped.ok}}'),
      last: { type: 'log', message: 'done' },
    },
    ['start>call', 'call>values', 'values>paid', 'paid:yes>ship', 'ship>after', 'after:yes>last'],
    { id: 7 },
  );

  const onAnswer = [{ nodeID: 'call', on: 'output' }];
  expect(plan.reached).toMatchObject({ call: 'yes', paid: 'yes', ship: 'depends', last: 'depends' });
  expect(plan.of('ship')).toMatchObject({ dependsOn: onAnswer, values: [{ path: 'url', dependsOn: onAnswer }] });
  expect(plan.of('last')?.dependsOn).toEqual([...onAnswer, { nodeID: 'ship', on: 'output' }]);
  expect(plan.edges.at(3)).toEqual({ edgeID: 'e3', isTaken: 'depends', dependsOn: onAnswer });
});

test('exits of nodes that wait or run code, failures, and variables are named', async () => {
  const plan = await planned(
    {
      ask: { type: 'approval' },
      yes: call(),
      failed: { type: 'log', message: '{{ctx.error.message}}' },
      coded: {
        type: 'condition',
        branches: [{ id: 'yes', conditions: [{ operator: 'expression', leftValue: 'ctx.input.n > 1' }] }],
      },
      more: { type: 'log', message: '{{vars.region}}' },
    },
    ['start>ask', 'ask:approved>yes', 'yes:error>failed', 'yes:success>coded', 'coded:yes>more'],
    { n: 2 },
  );

  expect(plan.of('yes')?.dependsOn).toEqual([{ nodeID: 'ask', on: 'exit' }]);
  expect(plan.of('failed')).toMatchObject({
    dependsOn: expect.arrayContaining([{ nodeID: 'yes', on: 'failure' }]),
    values: [{ path: 'message', dependsOn: [{ nodeID: 'yes', on: 'failure' }] }],
  });
  expect(plan.of('more')?.dependsOn).toContainEqual({ nodeID: 'coded', on: 'exit' });
  expect(plan.of('more')?.values).toEqual([{ path: 'message', dependsOn: [{ variable: 'region', on: 'variable' }] }]);
});

test('bodies are reached if the list has items, and what they read of an item depends on it', async () => {
  const body = {
    loop: { type: 'loop', sourceVariable: '{{ctx.input.lines}}', outputVariable: 'results' },
    inner: asks('{{ctx.item.kind}}'),
    kind: { type: 'log', message: '{{ctx.input.id}}' },
    after: asks('{{ctx.results.length}}'),
    done: { type: 'log', message: 'done' },
  };
  const edges = ['start>loop', 'loop:loop>inner', 'inner:yes>kind', 'loop:completed>after', 'after:yes>done'];

  const some = await planned(body, edges, { lines: [1, 2], id: 3 });
  const none = await planned(body, edges, { lines: [] });

  expect(some.of('loop')).toMatchObject({ items: 2, exit: 'completed' });
  expect(some.of('kind')).toMatchObject({ dependsOn: [{ nodeID: 'loop', on: 'item' }], values: [{ value: 3 }] });
  expect(some.of('done')?.dependsOn).toEqual([{ nodeID: 'loop', on: 'output' }]);
  expect(none.reached).toMatchObject({ loop: 'yes', inner: 'no', kind: 'no', after: 'yes' });
});

test('a value that racing branches write depends on both, and one that is written again on the last', async () => {
  const value = (n: number) => ({ type: 'set', assignments: [{ name: 'n', value: n }], outputVariable: `from${n}` });
  const racing = await planned(
    {
      one: value(1),
      two: value(2),
      both: { type: 'join', sourceVariables: [] },
      is: { type: 'log', message: '{{ctx.n}}' },
    },
    ['start>one', 'start>two', 'one>both', 'two>both', 'both>is'],
  );
  const inOrder = await planned({ one: value(1), two: value(2), is: { type: 'log', message: '{{ctx.n}}' } }, [
    'start>one',
    'one>two',
    'two>is',
  ]);

  expect(racing.of('is')?.values).toEqual([
    {
      path: 'message',
      dependsOn: [
        { nodeID: 'one', on: 'output' },
        { nodeID: 'two', on: 'output' },
      ],
    },
  ]);
  expect(inOrder.of('is')?.values).toEqual([{ path: 'message', value: 2 }]);
});

test('a node that must fail says why, and ends the run unless its error is connected', async () => {
  const nodes: Nodes = {
    wait: { type: 'join', sourceVariables: ['missing'] },
    next: { type: 'log', message: 'next' },
    caught: { type: 'log', message: 'caught' },
  };

  const ends = await planned(nodes, ['start>wait', 'wait>next', 'start>caught']);
  const goesOn = await planned(nodes, ['start>wait', 'wait>next', 'wait:error>caught']);

  expect(ends.of('wait')?.error).toEqual({ code: 'NODE_FAILED', message: expect.stringContaining('"missing"') });
  expect(ends.reached).toMatchObject({ next: 'no', caught: 'yes' });
  expect(goesOn.reached).toMatchObject({ next: 'no', caught: 'yes' });
});

test('the failed items of a map may be passed, its beginning and the items of a loop may not', async () => {
  const failing = async (type: 'map' | 'loop') => {
    const repeated = { type, sourceVariable: '{{ctx.answer}}', errorHandling: 'continue' };
    const nodes: Nodes = {
      call: call(),
      repeated,
      item: code('return 1'),
      after: { type: 'log', message: '{{ctx.error.message}}' },
    };
    const plan = await planned(nodes, [
      'start>call',
      'call>repeated',
      `repeated:${type}>item`,
      'repeated:completed>after',
    ]);
    return plan.of('after')?.values;
  };

  expect(await failing('map')).toEqual([{ path: 'message', dependsOn: [{ nodeID: 'repeated', on: 'failure' }] }]);
  expect(await failing('loop')).toEqual([{ path: 'message', value: null }]);
});

test('a disabled node is passed through, and large values are not shown', async () => {
  const plan = await planned(
    { off: { ...code('x'), isDisabled: true }, big: { type: 'log', message: '{{ctx.input.text}}' } },
    ['start>off', 'off:success>big'],
    { text: 'x'.repeat(5_000) },
  );

  expect(plan.of('off')).toMatchObject({ isReached: 'yes', exit: 'success' });
  expect(plan.of('big')?.values).toEqual([{ path: 'message', isOmitted: true }]);
});

test('a graph of the largest size has a plan', async () => {
  const ids = Array.from({ length: 4_998 }, (_, at) => `n${at}`);
  const nodes = Object.fromEntries(ids.map((id) => [id, { type: 'log', message: '{{ctx.input.id}} {{ctx.answer}}' }]));
  const edges = ids.map((id, at) => `${at === 0 ? 'call' : `n${at - 1}`}>${id}`);
  const plan = await planned({ call: call(), ...nodes }, ['start>call', ...edges], { id: 1 });

  expect(plan.nodes).toHaveLength(5_000);
});
