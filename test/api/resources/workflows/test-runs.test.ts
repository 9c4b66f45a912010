import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aDataQuery, aMember, aTenant, aWorkflow, chain, type TestTenant } from '../../../support/factories.ts';
import { code, graph } from '../../../support/graphs.ts';
import { type HTTPServer, startHTTP } from '../../../support/http-server.ts';
import { eventually } from '../../../support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
let server: HTTPServer;
beforeAll(async () => {
  cluster = await startCluster({ workers: ['workflow.runs'] });
  tenant = await aTenant(cluster);
  server = await startHTTP((_request, response) => {
    response.setHeader('content-type', 'application/json').end('{"from":"outside"}');
  });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

const api = () => cluster.as(tenant.creator).in(tenant);

/** The body of a run that has ended. */
async function tested(body: object) {
  const { status, body: answer } = await api().post('T/workflows/test', body);
  expect(answer).toEqual({ success: true, instanceID: expect.any(String), isTest: true });
  expect(status).toBe(200);
  return ended(answer.instanceID);
}

async function ended(instanceID: string) {
  const read = async () => (await api().get(`T/workflows/instances/${instanceID}`)).body;
  await eventually(async () => expect((await read()).completedAt).not.toBeNull());
  return await read();
}

function outcomeOf(run: { timeline: { nodeID: string; status: string }[] }, nodeID: string) {
  return run.timeline.findLast((event) => event.nodeID === nodeID);
}

function issuesOf({ body }: { body: { error: { details: { issues: { path: unknown; message: string }[] } } } }) {
  return body.error.details.issues.map(({ path, message }) => [path, message]);
}

describe('outputs that are given', () => {
  const calls = (path: string) =>
    graph(
      {
        start: { type: 'start' },
        call: { type: 'http', url: `${server.origin}${path}`, outputVariable: 'answer' },
        ask: { type: 'approval' },
        work: code('return ctx.answer.n + 1;', { outputVariable: 'sum' }),
        refused: { type: 'end', status: 'failure' },
        end: { type: 'end', outputParameters: [{ name: 'sum', sourceVariable: '{{ctx.sum}}' }] },
      },
      ['start>call', 'call>ask', 'ask:approved>work', 'ask:rejected>refused', 'work>end'],
    );

  test('stand for nodes that are not executed, and say so', async () => {
    const pinned = { call: { output: { answer: { n: 41 } } }, ask: { output: { approval: {} }, exit: 'approved' } };

    const run = await tested({ ...calls('/pinned'), pinned });

    expect(run).toMatchObject({ status: 'COMPLETED', output: { sum: 42 }, origin: 'test', isTest: true });
    expect(run.testMode).toEqual({ dryRun: false, stopAfter: null, pinned: expect.arrayContaining(['call', 'ask']) });
    expect(outcomeOf(run, 'call')).toMatchObject({ status: 'SUCCESS', isPinned: true, output: { answer: { n: 41 } } });
    expect(outcomeOf(run, 'work')).not.toHaveProperty('isPinned');
    expect(server.seen.filter(({ url }) => url === '/pinned')).toEqual([]);
  });

  test('lead on by their exit, also in a map and in place of a loop', async () => {
    const shape = graph(
      {
        start: { type: 'start' },
        loop: { type: 'loop', sourceVariable: [1, 2] },
        never: { type: 'http', url: `${server.origin}/in-a-loop` },
        map: { type: 'map', sourceVariable: [1, 2], outputVariable: 'all' },
        inner: { type: 'http', url: `${server.origin}/in-a-map`, outputVariable: 'got' },
        end: { type: 'end', outputParameters: [{ name: 'all', sourceVariable: '{{ctx.all}}' }] },
      },
      ['start>loop', 'loop:loop>never', 'loop:completed>map', 'map:map>inner', 'map:completed>end'],
    );

    const run = await tested({ ...shape, pinned: { loop: { output: {} }, inner: { output: { got: 'given' } } } });

    expect(run).toMatchObject({ status: 'COMPLETED', output: { all: ['given', 'given'] } });
    expect(server.seen.filter(({ url }) => url.startsWith('/in-a-'))).toEqual([]);
  });

  test('let nodes fail by the exit `error`, whose error those behind it read', async () => {
    const call = { type: 'http', url: `${server.origin}/pinned`, outputVariable: 'answer', retryLimit: 2 };
    const sourceVariable =
      '{{ctx.error.code}} {{ctx.error.nodeID}}: {{ctx.error.message}} {{ctx.error.details.status}}';
    const end = { type: 'end', outputParameters: [{ name: 'told', sourceVariable }] };
    const shape = (edges: string[]) => graph({ start: { type: 'start' }, call, end }, ['start>call', ...edges]);
    const error = { code: 'UPSTREAM_FAILED', message: 'away', details: { status: 503 } };
    const pinned = { call: { output: { answer: 'kept', error }, exit: 'error' } };

    const handled = await tested({ ...shape(['call:error>end']), pinned });
    const unhandled = await tested({ ...shape(['call>end']), pinned: { call: { output: {}, exit: 'error' } } });

    expect(handled).toMatchObject({ status: 'COMPLETED', output: { told: 'UPSTREAM_FAILED call: away 503' } });
    expect(outcomeOf(handled, 'call')).toMatchObject({
      ...{ status: 'FAILED', exit: 'error', isPinned: true, attempt: 1 },
      ...{ output: { answer: 'kept', error }, error: { code: 'UPSTREAM_FAILED', message: 'away' } },
    });
    expect(unhandled).toMatchObject({
      status: 'FAILED',
      error: { code: 'NODE_FAILED', message: 'The test lets this node fail', nodeID: 'call' },
    });
  });

  test('name nodes and exits of the graph', async () => {
    const pinned = { nobody: { output: {} }, call: { output: {}, exit: 'approved' } };

    const refused = await api().post('T/workflows/test', { ...calls('/'), pinned, stopAfter: 'nothing' });

    expect(refused.status).toBe(400);
    expect(issuesOf(refused)).toEqual([
      [['pinned', 'nobody'], 'there is no such node'],
      [['pinned', 'call', 'exit'], 'expected one of success, error'],
      [['stopAfter'], 'there is no such node'],
    ]);
  });
});

describe('a dry run', () => {
  test('refuses requests that may write, names them, and goes on without them', async () => {
    const { id: childWorkflowID } = await aWorkflow(cluster, {
      tenant,
      ...chain({ put: { type: 'http', url: `${server.origin}/child`, method: 'PUT' } }),
    });
    const shape = graph(
      {
        start: { type: 'start' },
        read: { type: 'http', url: `${server.origin}/read`, outputVariable: 'read' },
        write: { type: 'http', url: `${server.origin}/orders/7?key=1`, method: 'POST', outputVariable: 'written' },
        map: { type: 'map', sourceVariable: [1] },
        inner: { type: 'http', url: `${server.origin}/chunk`, method: 'DELETE', outputVariable: 'gone' },
        child: { type: 'subWorkflow', childWorkflowID },
        end: {
          type: 'end',
          outputParameters: [
            { name: 'read', sourceVariable: '{{ctx.read}}' },
            { name: 'written', sourceVariable: '{{ctx.written}}' },
          ],
        },
      },
      ['start>read', 'read>write', 'write>map', 'map:map>inner', 'map:completed>child', 'child>end'],
    );

    const run = await tested({ ...shape, dryRun: true });

    expect(run).toMatchObject({ status: 'COMPLETED', output: { read: { from: 'outside' }, written: null } });
    expect(outcomeOf(run, 'write')).toMatchObject({
      status: 'SKIPPED',
      exit: 'success',
      output: { written: null },
      refusedWrite: `POST ${server.origin}/orders/7`,
    });
    expect(server.seen.map(({ url }) => url)).toContain('/read');
    const inDryRun = ['/orders/7?key=1', '/chunk', '/child'];
    expect(server.seen.filter(({ url }) => inDryRun.includes(url))).toEqual([]);
    const { body } = await api().get(`T/workflows/instances?root=${run.instanceID}`);
    const others = body.instances.filter(({ parentInstanceID }: { parentInstanceID: string }) => parentInstanceID);
    expect(others).toHaveLength(2);
    for (const { instanceID } of others) {
      const other = await ended(instanceID);
      expect(other).toMatchObject({ isTest: true, testMode: { dryRun: true } });
      expect(other.timeline.map(({ refusedWrite }: { refusedWrite?: string }) => refusedWrite)).toContainEqual(
        expect.stringMatching(/^(PUT|DELETE) /),
      );
    }
  });

  test('refuses SQL that changes something, by its words and at the server', async () => {
    const table = `dry_${newID().replaceAll('-', '')}`;
    const run = async (query: string, more: object = {}) => {
      const { id: dataQueryID } = await aDataQuery(cluster, { tenant, query });
      return tested({ ...chain({ ask: { type: 'dataQuery', dataQueryID } }, { is: '{{ctx.queryResult}}' }), ...more });
    };
    await run(`create table ${table} (n int)`);

    const plain = await run(`insert into ${table} values (1)`, { dryRun: true });
    const hidden = await run(`with w as (insert into ${table} values (2) returning n) select n from w`, {
      dryRun: true,
    });
    const reading = await run(`select count(*)::int as n from ${table}`, { dryRun: true });

    expect(outcomeOf(plain, 'ask')).toMatchObject({ refusedWrite: `insert into ${table} values (1)` });
    expect(outcomeOf(hidden, 'ask')).toMatchObject({ refusedWrite: expect.stringMatching(/^with w as/) });
    expect(reading).toMatchObject({ status: 'COMPLETED', output: { is: [{ n: 0 }] } });
  });
});

describe('the end of a test', () => {
  test('is after the named node, whose output it has', async () => {
    const shape = graph(
      {
        start: { type: 'start' },
        wait: { type: 'delay', delayMinutes: 5 },
        step: code('return 1;', { outputVariable: 'one' }),
        after: { type: 'http', url: `${server.origin}/after` },
      },
      ['start>wait', 'start>step', 'step>after'],
    );

    const run = await tested({ ...shape, stopAfter: 'step' });

    expect(run).toMatchObject({ status: 'COMPLETED', output: { one: 1, success: true }, error: null });
    expect(outcomeOf(run, 'wait')).toMatchObject({ status: 'CANCELLED', output: { cancelledBy: 'step' } });
    expect(run.nodes.map(({ nodeID }: { nodeID: string }) => nodeID)).not.toContain('after');
  });

  test('is after the named node also where its failure is that of an item', async () => {
    const loop = { type: 'loop', sourceVariable: [1, 2], errorHandling: 'continue' };
    const shape = graph({ start: { type: 'start' }, loop, bad: code('throw new Error("no");') }, [
      'start>loop',
      'loop:loop>bad',
    ]);

    const run = await tested({ ...shape, stopAfter: 'bad' });

    expect(run).toMatchObject({ status: 'COMPLETED', output: { success: false, error: { code: 'NODE_FAILED' } } });
    const failures = run.timeline.filter(({ status }: { status: string }) => status === 'FAILED');
    expect(failures).toMatchObject([{ nodeID: 'bad', iteration: 0 }]);
  });

  test('cannot be in an item of a map, which is a run of its own', async () => {
    const shape = graph(
      { start: { type: 'start' }, map: { type: 'map', sourceVariable: [1] }, inner: code('return 1;') },
      ['start>map', 'map:map>inner'],
    );

    const refused = await api().post('T/workflows/test', { ...shape, stopAfter: 'inner' });

    expect(issuesOf(refused)).toEqual([
      [['stopAfter'], 'the node is in the body of "map", whose items are runs of their own: name "map"'],
    ]);
  });
});

describe('a saved version', () => {
  test('is tested by its number, and without one the draft that was saved last', async () => {
    const { body } = await api().post('T/workflows', { title: 'Tested', ...chain({}, { is: 'published' }) });
    const { id } = body.workflow;
    await api().patch(`T/workflows/${id}`, { ...chain({}, { is: 'draft' }), draft: true });

    const [latest, first] = [await tested({ workflowID: id }), await tested({ workflowID: id, version: 1 })];
    const none = await api().post('T/workflows/test', { workflowID: id, version: '9' });

    expect([latest.output, first.output]).toEqual([{ is: 'draft' }, { is: 'published' }]);
    expect(latest).toMatchObject({ workflowID: id, versionNumber: 2, isTest: true });
    expect(none.status).toBe(404);
  });

  test('needs the permission to test; with outputs that are given, those of an author', async () => {
    const { id: dataQueryID } = await aDataQuery(cluster, { tenant });
    const shape = chain({ ask: { type: 'dataQuery', dataQueryID } });
    const { id } = await aWorkflow(cluster, { tenant, ...shape });
    const may = async (permission: 'workflow.execute' | 'workflow.test', body: object) => {
      const member = await aMember(cluster, { tenant, can: [permission] });
      return (await cluster.as(member).in(tenant).post('T/workflows/test', body)).status;
    };

    expect(await may('workflow.execute', { workflowID: id })).toBe(403);
    expect(await may('workflow.test', { workflowID: id })).toBe(200);
    expect(await may('workflow.test', { workflowID: id, pinned: { start: { output: {} } } })).toBe(403);
    expect(await may('workflow.test', shape)).toBe(403);
  });
});

test('a test that fails starts no handler, and is listed by its origin', async () => {
  const { id: handler } = await aWorkflow(cluster, { tenant, ...chain() });
  const { id } = await aWorkflow(cluster, {
    tenant,
    ...chain({ bad: code('throw new Error("no luck")') }),
    options: { onFailure: { workflowID: handler } },
  });

  const run = await tested({ workflowID: id, dryRun: true });
  const { body } = await api().get(`T/workflows/instances?workflowID=${id}&origin=test`);
  const failures = await cluster.pool.query('select from run_failure where instance_id = $1', [run.instanceID]);

  expect(run).toMatchObject({ status: 'FAILED', origin: 'test' });
  expect(body.instances).toMatchObject([{ instanceID: run.instanceID }]);
  expect(failures.rowCount).toBe(0);
});
