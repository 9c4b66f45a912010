import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runSync } from '#shared/concurrency/cooperative.ts';
import type { Json } from '#shared/core/json.ts';
import { compileGraph, WorkflowEdge, WorkflowNode } from '#shared/workflow/graph/graph.ts';
import { type ExecutedDrawing, Execution, type Mishap } from '#test/support/executed-runs.ts';
import { code, graph } from '#test/support/graphs.ts';
import { runsOf } from '#test/support/sample.ts';
import type { Chunk } from '#workers/engine/state/chunk.ts';

/** A part of a workflow: a node, two nodes side by side, or a loop. A node fails in one of `failsIn` frames; 0: never. */
type Item =
  | { kind: 'node'; failsIn: number }
  | { kind: 'pair'; failsIn: number }
  | {
      kind: 'loop' | 'map';
      times: number;
      handling: string | null;
      hasError: boolean;
      delayMs: number;
      body: Item[];
    };

const failsIn = fc.constantFrom(0, 0, 0, 2, 3);
const { items } = fc.letrec<{ items: Item[]; item: Item }>((tie) => ({
  items: fc.array(tie('item'), { minLength: 1, maxLength: 3 }),
  item: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.record({ kind: fc.constant('node' as const), failsIn }),
    fc.record({ kind: fc.constant('pair' as const), failsIn }),
    fc.record({
      kind: fc.constant('loop' as const),
      times: fc.nat(3),
      handling: fc.constantFrom(null, 'fail_workflow', 'continue', 'skip_item'),
      hasError: fc.boolean(),
      delayMs: fc.constantFrom(0, 0, 1000),
      body: tie('items'),
    }),
  ),
}));

function draw(all: Item[]): ExecutedDrawing {
  const nodes: Record<string, { type: string }> = { start: { type: 'start' } };
  const edges: string[] = [];
  const failing = new Map<string, number>();
  append(all, ['start']);
  const shape = graph(nodes, edges);
  return {
    graph: runSync(compileGraph(WorkflowNode.array().parse(shape.nodes), WorkflowEdge.array().parse(shape.edges))),
    failing,
  };

  function append(list: Item[], heads: string[]): void {
    let open = heads;
    for (const item of list) {
      const own = Array.from({ length: item.kind === 'pair' ? 2 : 1 }, () => add(item));
      for (const target of own) edges.push(...open.map((head) => `${head}>${target}`));
      open = own.map((id) => ('body' in item ? `${id}:completed` : `${id}:success`));
      if ('body' in item) append(item.body, [`${own[0]}:${item.kind}`]);
      if ('body' in item && item.hasError) edges.push(`${own[0]}:error>${add({ kind: 'node', failsIn: 0 })}`);
    }
  }

  function add(item: Item): string {
    const id = `n${Object.keys(nodes).length}`;
    if ('body' in item) {
      const sourceVariable = Array.from({ length: item.times }, (_, index) => `${id}.${index}`);
      const { handling, delayMs: delayBetweenItems } = item;
      const more = { sourceVariable, delayBetweenItems, ...(handling && { errorHandling: handling }) };
      const own = { type: item.kind, outputVariable: id, sourceVariable: null };
      nodes[id] = item.kind === 'map' ? own : ({ ...own, ...more } as { type: string });
    } else {
      nodes[id] = code('return 1', { outputVariable: id });
      failing.set(id, item.failsIn);
    }
    return id;
  }
}

const picks = fc.array(fc.nat(), { minLength: 1, maxLength: 40 });
const restores = fc.array(fc.constantFrom<Mishap>('none', 'replaced', 'replaced with a checkpoint'), {
  minLength: 1,
  maxLength: 40,
});

test('in any order, and whenever it is restored, a run with loops executes the same activations with the same outcomes', async () => {
  const drawn = runsOf('orders of runs with loops', { all: 300, sampled: 80 });
  let completed = 0;
  await fc.assert(
    fc.asyncProperty(items, picks, restores, async (list, order, lost) => {
      const drawing = draw(list);
      const inOrder = await new Execution(drawing).finish([0]);
      const other = await new Execution(drawing).finish(order, lost);

      expect(inOrder.status).not.toBe('RUNNING');
      expect(other.status).toBe(inOrder.status);
      // Where the run fails, branches are cut off by it.
      if (inOrder.status === 'COMPLETED') expect(other.outcomes).toEqual(inOrder.outcomes);
      if (inOrder.status === 'COMPLETED') completed += 1;
    }),
    drawn,
  );
  expect(completed).toBeGreaterThan(drawn.numRuns / 4);
});

test('a map in chunks of any size, each in any order and restored at will, gives what a loop over its items gives', async () => {
  const cases = runsOf('chunks of maps', { all: 150, sampled: 40 });
  let failed = 0;
  await fc.assert(
    fc.asyncProperty(items, fc.nat(6), fc.integer({ min: 1, max: 4 }), picks, restores, async (...drawn) => {
      const [body, times, size, order, lost] = drawn;
      const around = { times, handling: 'continue', hasError: false, delayMs: 0, body };
      const looped = await new Execution(draw([{ kind: 'loop', ...around }])).finish([0]);
      const last = looped.rows.findLast(({ node_id, status }) => node_id === 'n1' && status === 'SUCCESS');
      const results = last?.payload?.output as { n1: Json[] };

      const drawing = draw([{ kind: 'map', ...around }]);
      const list = Array.from({ length: times }, (_, index) => `n1.${index}`);
      const outputs: { results: Json[]; failed: number }[] = [];
      for (let first = 0; first < times; first += size) {
        const own = list.slice(first, first + size);
        const run = await new Execution(drawing, aChunk(own, first)).finish(order, lost);
        const output = run.output as unknown as { results: Json[]; failed: number };
        outputs.push(output);
        const tolerant = await new Execution(drawing, aChunk(own, first, { tolerated: 1 })).finish(order, lost);
        expect(tolerant.output).toEqual(output.failed > 1 ? null : output);
      }

      expect(outputs.flatMap((output) => output.results)).toEqual(results.n1);
      failed += outputs.reduce((sum, output) => sum + output.failed, 0);
    }),
    cases,
  );
  expect(failed).toBeGreaterThan(0);
});

function aChunk(own: Json[], first: number, { tolerated = null as number | null } = {}): Chunk {
  const plan = { itemVariable: 'item', indexVariable: 'index', concurrency: 1, collectResults: true };
  const around = { mapID: 'm', nodeID: 'n1', scope: { input: {} }, scopeLength: 12 };
  return { ...around, first, items: own, plan: { ...plan, failsFast: false, tolerated } };
}
