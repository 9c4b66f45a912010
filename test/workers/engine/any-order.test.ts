import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nodes } from '#shared/workflow/nodes/index.ts';
import { Execution, type Keeping, type Mishap } from '#test/support/executed-runs.ts';
import { runsOf, takesAll } from '#test/support/sample.ts';
import { drawGraph, parts } from '#test/workers/engine/drawn-graphs.ts';

/** They need servers, which the runs of these tests do not have; a node of code stands for them. */
const WITH_SERVERS = ['ai', 'dataQuery', 'http'];

const picks = fc.array(fc.nat(), { minLength: 1, maxLength: 40 });
const mishaps = fc.array(
  fc.constantFrom<Mishap>('none', 'none', 'none', 'loses', 'replaced', 'replaced with a checkpoint'),
  { minLength: 1, maxLength: 40 },
);

const keepings = fc.constantFrom<Keeping>('with the run', 'offloaded');

test('in any order of completions, crashes and claims a run executes the same nodes with the same outputs', async () => {
  const completed = new Set<string>();
  let count = 0;
  await fc.assert(
    fc.asyncProperty(parts, picks, mishaps, keepings, async (list, order, lost, keeping) => {
      const drawing = drawGraph(list);
      const inOrder = await new Execution(drawing).finish([0]);
      const other = await new Execution(drawing, null, keeping).finish(order, [...lost, 'none']);

      expect(inOrder.status).not.toBe('RUNNING');
      expect(other.status).toBe(inOrder.status);
      // Where the run fails, branches are cut off by it.
      if (inOrder.status === 'FAILED') return;
      expect(other.outcomes).toEqual(inOrder.outcomes);
      expect(other.output).toEqual(inOrder.output);
      count += 1;
      for (const { definition } of drawing.graph.nodes) completed.add(definition.kind);
    }),
    runsOf('any order', { all: 400, sampled: 100 }),
  );

  expect(count).toBeGreaterThan(takesAll ? 200 : 40);
  // A sample may miss one.
  if (!takesAll) return;
  expect([...completed, ...WITH_SERVERS].toSorted()).toEqual(nodes.map(({ kind }) => kind).toSorted());
});
