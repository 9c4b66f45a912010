import { afterAll, beforeAll, expect, test } from 'vitest';
import { runSync } from '#shared/concurrency/cooperative.ts';
import { newID } from '#shared/core/ids.ts';
import { compileGraph, WorkflowEdge, WorkflowNode } from '#shared/workflow/graph/graph.ts';
import { WorkflowOptions } from '#shared/workflow/options.ts';
import type { Activation } from '#shared/workflow/progress/progress.ts';
import { withBodies } from '#test/support/bodies.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { testLogger } from '#test/support/environment.ts';
import { graph } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';
import { createCommitter } from '#workers/engine/commit/commit.ts';
import { Run } from '#workers/engine/state/run.ts';
import { createReadWaits } from '#workers/engine/waits/wait-results.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment();
});
afterAll(() => deployment[Symbol.asyncDispose]());

const branches = ['body', 'done'].map((id) => ({ id, conditions: [{ operator: 'is_empty', leftValue: 1 }] }));
const shape = graph(
  {
    start: { type: 'start' },
    outer: { type: 'condition', branches },
    inner: { type: 'condition', branches },
    ask: { type: 'dataCollection', fields: [{ key: 'answer' }] },
  },
  ['start>outer', 'outer:body>inner', 'inner:body>ask'],
);
const nested = withBodies(
  runSync(compileGraph(WorkflowNode.array().parse(shape.nodes), WorkflowEdge.array().parse(shape.edges))),
  'body',
  (id) => id === 'outer' || id === 'inner',
);

async function hold(): Promise<{ run: Run; leaseID: string }> {
  const [id, leaseID] = [newID(), newID()];
  const { pool, tenantID } = deployment;
  const versionID = await deployment.saveVersion(shape);
  const caller = { type: 'system', id: tenantID, origin: 'direct' } as const;
  await pool.query(
    `insert into worker_session (id, expires_at, slots, version) values ($1, now() + interval '1 hour', 0, 't')`,
    [leaseID],
  );
  await pool.query(
    `insert into workflow_instance (id, tenant_id, version_id, status, epoch, held_by, deadline_at, caller)
     values ($1, $2, $3, 'RUNNING', 1, $4, now() + interval '1 hour', $5)`,
    [id, tenantID, versionID, leaseID, caller],
  );
  const row = { id, tenant_id: tenantID, workflow_id: null, version_id: versionID, epoch: 1, seq: 0, wake_seq: 0 };
  const version = {
    creatorID: tenantID,
    author: null,
    graph: nested,
    options: WorkflowOptions.parse({}),
    policies: [],
  };
  const more = { losses: 0, parent_id: null, map_id: null, depth: 0, deadline_at: new Date(), caller };
  return { run: new Run({ ...row, ...more, input: {}, test_mode: null, held_length: null }, version), leaseID };
}

/** The node `ask` in the first round of each of two inner loops. */
function twoFirstRounds({ state }: Run): [Activation, Activation] {
  const [start] = state.begin();
  if (!start) throw new Error('The run has no start');
  const [outer] = state.settle(start, 'output');
  const asks = [0, 1].map((round) => {
    const [inner] = outer ? state.open(outer, round, {}) : [];
    const [ask] = inner ? state.open(inner, 0, {}) : [];
    if (!ask) throw new Error('The round did not begin');
    return ask;
  });
  return asks as [Activation, Activation];
}

test('the first rounds of two inner loops wait side by side, each with a question and an end of its own', async () => {
  const { run, leaseID } = await hold();
  const { pool } = deployment;
  const committer = createCommitter({
    pool,
    leaseID: () => leaseID,
    logger: testLogger,
    onCommitted: () => undefined,
    onBroken: (_, error) => expect.unreachable(error.message),
    onFenced: () => expect.unreachable('fenced'),
    onRefused: (_run, _step, error) => expect.unreachable(error.message),
    publish: () => undefined,
  });
  const activations = twoFirstRounds(run);
  for (const activation of activations) {
    const request = { id: newID(), activation, config: {}, expiresInMs: null };
    const wait = { kind: 'input', purpose: 'park', ms: null, ref: request.id, request } as const;
    run.record(activation, { status: 'SUSPENDED', exit: null, payload: null });
    run.wait(activation, wait, () => undefined);
  }
  committer.submit(run);
  await committer.idle();

  const { rows: questions } = await pool.query(
    'select node_id, iteration, frame from collection_request where instance_id = $1 order by frame',
    [run.id],
  );
  const path = (round: number) => [
    { nodeID: 'outer', iteration: round },
    { nodeID: 'inner', iteration: 0 },
  ];
  expect(questions).toEqual([0, 1].map((round) => ({ node_id: 'ask', iteration: 0, frame: path(round) })));
  const readWaits = createReadWaits(pool, async () => new Map(), 'all');
  expect((await readWaits(run.id)).map((wait) => wait.path).sort()).toEqual(['0.0', '1.0']);

  run.resolve(activations[1]);
  run.record(activations[1], { status: 'SUCCESS', exit: 'output', payload: null });
  committer.submit(run);
  await eventually(async () => expect((await readWaits(run.id)).map((wait) => wait.path)).toEqual(['0.0']));
});
