import { expect, test } from 'vitest';
import { runSync } from '#shared/concurrency/cooperative.ts';
import { compileGraph, WorkflowEdge, WorkflowNode } from '#shared/workflow/graph/graph.ts';
import { nodes } from '#shared/workflow/nodes/index.ts';
import { hasOther, redisURL } from '#test/support/backplane.ts';
import { sampleSeed, takesAll } from '#test/support/sample.ts';
import { graphOf } from '../chaos/graph.ts';
import { planProgram } from '../chaos/program.ts';
import { runChaos } from '../chaos/run.ts';

/** A few faults each time, others every time, and on one of the backplanes. `npm run chaos` goes on for longer, on both. */
const SECONDS = 6;

test('the workflows of the programs have every kind of node', () => {
  const id = '01a20361-eaf3-7000-be68-4c6e95a38225';
  const around = { serviceURL: 'http://127.0.0.1:1', dataQueryID: id, handlerID: id, childID: id, person: 'a@b.test' };
  const types = new Set<string>();
  for (let seed = 0; seed < 20; seed += 1)
    for (const shape of planProgram(seed, { seconds: 1, isRedis: true }).shapes) {
      const { workflowNodes, workflowEdges } = graphOf(shape, { name: 'shape', ...around });
      for (const { type } of workflowNodes) types.add(type);
      runSync(compileGraph(WorkflowNode.array().parse(workflowNodes), WorkflowEdge.array().parse(workflowEdges)));
    }

  // No provider of a language model takes part.
  const others = nodes.map(({ kind }) => kind).filter((kind) => kind !== 'ai');
  expect([...types].toSorted()).toEqual(others.toSorted());
});

test('under random faults every acknowledged run ends, once, with the state that the model says', async ({ skip }) => {
  const isDrawn = takesAll || !hasOther || (sampleSeed % 2 === 0) === (redisURL !== undefined);
  if (!isDrawn) skip('this run has chaos on the other backplane');
  const seed = Math.floor(Math.random() * 1_000_000);
  const backplane = redisURL ? 'redis' : 'postgres';
  const lines: string[] = [];

  const { differences, runs } = await runChaos({
    seed,
    seconds: SECONDS,
    backplane,
    timeoutMs: 90_000,
    say: (line) => void lines.push(line),
  });

  expect(
    differences,
    `npm run chaos -- --seed ${seed} --seconds ${SECONDS} --backplane ${backplane}\n${lines.join('\n')}`,
  ).toEqual([]);
  expect(runs).toBeGreaterThan(SECONDS);
}, 240_000);
