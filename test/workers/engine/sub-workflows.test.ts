import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { graph } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment({ NODE_OUTPUT_MAX_BYTES: '20000' });
  await deployment.startWorker();
});
afterAll(() => deployment[Symbol.asyncDispose]());

const calling = (childWorkflowID: string, inputMapping: object = {}) =>
  graph(
    {
      start: { type: 'start' },
      call: { type: 'subWorkflow', childWorkflowID, inputMapping },
      end: { type: 'end', outputParameters: [{ name: 'data', sourceVariable: '{{ctx.subResult}}' }] },
    },
    ['start>call', 'call:success>end'],
  );

async function ended(of: { workflowID: string; versionID: string }) {
  const { workflowID, versionID } = of;
  const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID, {}, { workflowID }));
  await eventually(async () => expect((await deployment.read(instanceID)).status).toMatch(/COMPLETED|FAILED/));
  return { instanceID, ...(await deployment.read(instanceID)) };
}

/** Publishes another graph. */
async function publish(workflowID: string, shape: { nodes: object[]; edges: object[] }): Promise<void> {
  const versionID = await deployment.saveVersion(shape, {}, workflowID);
  await deployment.pool.query('update workflow set version_id = $2 where id = $1', [workflowID, versionID]);
}

test('workflows that call each other in a cycle are refused at the call that closes it, which names them', async () => {
  const outer = await deployment.saveWorkflow(graph({ start: { type: 'start' } }, []));
  const first = await deployment.saveWorkflow(graph({ start: { type: 'start' } }, []));
  const second = await deployment.saveWorkflow(calling(first.workflowID));
  await publish(first.workflowID, calling(second.workflowID));
  for (const [{ workflowID }, title] of [
    [first, 'First'],
    [second, 'Second'],
  ] as const)
    await deployment.pool.query('update workflow set title = $2 where id = $1', [workflowID, title]);
  const versionID = await deployment.saveVersion(calling(first.workflowID), {}, outer.workflowID);

  const { error, instanceID } = await ended({ workflowID: outer.workflowID, versionID });

  expect(error?.message).toContain('in a cycle: "First" → "Second" → "First"');
  const { rows } = await deployment.pool.query(
    `with recursive line as (
       select id from workflow_instance where id = $1
       union all select child.id from workflow_instance child join line on child.parent_id = line.id)
     select id from line`,
    [instanceID],
  );
  expect(rows).toHaveLength(3);
});

test('a workflow that is disabled is not executed as a sub-workflow either', async () => {
  const child = await deployment.saveWorkflow(graph({ start: { type: 'start' } }, []));
  const outer = await deployment.saveWorkflow(calling(child.workflowID));
  await deployment.pool.query('update workflow set is_disabled = true where id = $1', [child.workflowID]);

  const { status, error, instanceID } = await ended(outer);

  expect({ status, error }).toMatchObject({
    status: 'FAILED',
    error: { code: 'NODE_FAILED', nodeID: 'call', message: 'The sub-workflow is disabled' },
  });
  const children = await deployment.pool.query('select from workflow_instance where parent_id = $1', [instanceID]);
  expect(children.rowCount).toBe(0);
});

test('a workflow that a template lets call itself is refused at once', async () => {
  const own = await deployment.saveWorkflow(graph({ start: { type: 'start' } }, []));
  const versionID = await deployment.saveVersion(calling(own.workflowID), {}, own.workflowID);

  expect(await ended({ workflowID: own.workflowID, versionID })).toMatchObject({
    status: 'FAILED',
    error: { code: 'NODE_FAILED', nodeID: 'call', message: 'A workflow cannot call itself' },
  });
});

test('runs under one key that a run without a key has started wait for no place of one another', async () => {
  const concurrency = { key: 'shop', limit: 1, onLimit: 'queue', scope: 'tenant' };
  const leaf = await deployment.saveWorkflow(graph({ start: { type: 'start' } }, []), { concurrency });
  const middle = await deployment.saveWorkflow(calling(leaf.workflowID), { concurrency });
  const outer = await deployment.saveWorkflow(calling(middle.workflowID));

  const { status, instanceID } = await ended(outer);

  expect(status).toBe('COMPLETED');
  const { rows } = await deployment.pool.query<{ own: string | null }>(
    `select i.concurrency_key as own from workflow_instance i
     where i.parent_id in (select id from workflow_instance where id = $1 or parent_id = $1) order by i.depth`,
    [instanceID],
  );
  expect(rows.map(({ own }) => own)).toEqual([':shop', null]);
});

test('a call deeper than its maxDepth is refused', async () => {
  const limited = (childWorkflowID: string) => {
    const shape = calling(childWorkflowID);
    return { ...shape, nodes: shape.nodes.map((node) => ({ ...node, data: { ...node.data, maxDepth: 1 } })) };
  };
  const inner = await deployment.saveWorkflow(graph({ start: { type: 'start' } }, []));
  const middle = await deployment.saveWorkflow(limited(inner.workflowID));
  const outer = await deployment.saveWorkflow(calling(middle.workflowID));

  expect(await ended(middle)).toMatchObject({ status: 'COMPLETED' });
  expect(await ended(outer)).toMatchObject({
    status: 'FAILED',
    error: { nodeID: 'call', cause: { nodeID: 'call', message: 'Sub-workflows are nested deeper than 1 levels' } },
  });
});

/** Seconds from the acceptance of a run to its deadline. */
async function timeOf(where: 'id' | 'parent_id', id: string): Promise<number | undefined> {
  const { rows } = await deployment.pool.query<{ seconds: number }>(
    `select round(extract(epoch from deadline_at - created_at))::int as seconds from workflow_instance where ${where} = $1`,
    [id],
  );
  return rows[0]?.seconds;
}

const approvalGraph = graph({ start: { type: 'start' }, ask: { type: 'approval' } }, ['start>ask']);

test('a sub-workflow that waits has the time of its own workflow and of the calling run, not that of its node', async () => {
  const [patient, limited] = await Promise.all([
    deployment.saveWorkflow(approvalGraph),
    deployment.saveWorkflow(approvalGraph, { workflowRunTimeout: '2 h' }),
  ]);
  for (const [child, timeoutSeconds, timeoutMs, seconds] of [
    [patient, undefined, 7_200_000, 7_200],
    [patient, 60, 864_000_000, 604_800],
    [limited, 3_600, 864_000_000, 7_200],
  ] as const) {
    const shape = calling(child.workflowID);
    const nodes = shape.nodes.map((node) => ({ ...node, data: { ...node.data, timeoutSeconds } }));
    const options = { nodeDefaults: { subWorkflow: { timeoutSeconds: 30 } } };
    const versionID = await deployment.saveVersion({ ...shape, nodes }, options);
    const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID, {}, { timeoutMs }));

    await eventually(async () => expect((await deployment.read(instanceID)).status).toBe('WAITING'));

    // The rows were written a moment apart.
    const found = (await timeOf('parent_id', instanceID)) ?? 0;
    expect(Math.abs(found - seconds)).toBeLessThan(60);
    await deployment.runs.stop(deployment.tenantID, instanceID);
  }
});

test('the error of a sub-workflow that takes too long names the limit, and where it is set', async () => {
  const child = await deployment.saveWorkflow(approvalGraph, { workflowRunTimeout: '1 s' });

  const { status, error } = await ended(await deployment.saveWorkflow(calling(child.workflowID)));

  const message = 'The run took longer than 1 s (`workflowRunTimeout` of its workflow). It was at "ask"';
  expect({ status, error }).toMatchObject({
    status: 'FAILED',
    error: { code: 'NODE_FAILED', nodeID: 'call', cause: { code: 'RUN_TIMEOUT', nodeID: 'ask', message } },
  });
});

test('a sub-workflow that waits is cancelled when the time of the run around it is up', async () => {
  const child = await deployment.saveWorkflow(approvalGraph);
  const versionID = await deployment.saveVersion(calling(child.workflowID), { workflowRunTimeout: '90 s' });
  const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID, {}, { timeoutMs: 1_500 }));

  const read = async () => {
    const { rows } = await deployment.pool.query<{ status: string; message: string | null }>(
      `select status, error ->> 'message' as message from workflow_instance where id = $1 or parent_id = $1 order by depth`,
      [instanceID],
    );
    return rows;
  };

  const message = 'The run took longer than 90 s (`workflowRunTimeout` of its workflow). It was at "call"';
  await eventually(async () =>
    expect(await read()).toEqual([
      { status: 'FAILED', message },
      { status: 'CANCELLED', message: null },
    ]),
  );
});

test('inputs of a sub-workflow have the limit of outputs', async () => {
  const child = await deployment.saveWorkflow(graph({ start: { type: 'start' } }, []));
  const large = 'x'.repeat(21_000);
  const failing = await deployment.saveWorkflow(calling(child.workflowID, { large }));
  const fitting = await deployment.saveWorkflow(calling(child.workflowID, { large: large.slice(2_000) }));

  expect(await ended(failing)).toMatchObject({
    status: 'FAILED',
    error: { code: 'NODE_FAILED', nodeID: 'call', message: expect.stringMatching(/^inputMapping: .*20000 bytes/) },
  });
  expect(await ended(fitting)).toMatchObject({ status: 'COMPLETED' });
});

test('a child that waits keeps its version while another one is published', async () => {
  const askGraph = (answer: string) =>
    graph(
      {
        start: { type: 'start' },
        ask: { type: 'approval' },
        end: { type: 'end', outputParameters: [{ name: 'answer', sourceVariable: answer }] },
      },
      ['start>ask', 'ask:approved>end'],
    );
  const child = await deployment.saveWorkflow(askGraph('old'));
  const parent = await deployment.saveWorkflow(calling(child.workflowID));
  const { instanceID } = await deployment.runs.accept(deployment.newRun(parent.versionID));
  const children = async () =>
    (
      await deployment.pool.query<{ id: string; status: string }>(
        'select id, status from workflow_instance where parent_id = $1 and held_by is null',
        [instanceID],
      )
    ).rows;
  await eventually(async () => expect(await children()).toMatchObject([{ status: 'WAITING' }]));
  await publish(child.workflowID, askGraph('new'));
  const [{ id = '' } = {}] = await children();
  await deployment.pool.query(
    `update collection_request set status = 'COMPLETED', submitted_data = '{"decision":"approve"}' where instance_id = $1`,
    [id],
  );
  await deployment.runs.wake([id]);

  await eventually(async () =>
    expect(await deployment.read(instanceID)).toMatchObject({
      status: 'COMPLETED',
      output: { data: { answer: 'old' } },
    }),
  );
  // The child's worker ends it: the sweep would wake the parent two seconds later.
  const { rows: ends } = await deployment.pool.query(
    `select parent.completed_at < child.completed_at + interval '2 seconds' as is_soon
     from workflow_instance child join workflow_instance parent on parent.id = child.parent_id where child.id = $1`,
    [id],
  );
  expect(ends).toEqual([{ is_soon: true }]);
  const next = await deployment.runs.accept(deployment.newRun(parent.versionID));
  await eventually(async () => {
    const { rows } = await deployment.pool.query<{ version_id: string }>(
      'select version_id from workflow_instance where parent_id = $1',
      [next.instanceID],
    );
    expect(rows).toHaveLength(1);
    expect(rows).not.toEqual([{ version_id: child.versionID }]);
  });
});
