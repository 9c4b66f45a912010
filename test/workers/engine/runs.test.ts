import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { code, graph, noop, noops } from '#test/support/graphs.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { eventually } from '#test/support/settle.ts';

describe('a run, from acceptance to its end', () => {
  let deployment: Deployment;
  beforeAll(async () => {
    deployment = await startDeployment();
    await deployment.startWorker();
  });
  afterAll(() => deployment[Symbol.asyncDispose]());

  async function run(shape: { nodes: object[]; edges: object[] }, input = {}) {
    const versionID = await deployment.saveVersion(shape);
    const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID, input));
    await deployment.settle();
    return { instanceID, row: await deployment.read(instanceID), events: await deployment.events(instanceID) };
  }

  test('a chain runs in order and every event has the next number', async () => {
    const { row, events } = await run(noops(3));

    expect(row.status).toBe('COMPLETED');
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1));
    expect(row.seq).toBe(events.length);
    expect(events.map(({ node_id, status }) => `${node_id} ${status}`)).toEqual([
      'start SUCCESS',
      'n1 RUNNING',
      'n1 SUCCESS',
      'n2 RUNNING',
      'n2 SUCCESS',
      'n3 RUNNING',
      'n3 SUCCESS',
      'null COMPLETED',
    ]);
  });

  test('code reads the input and earlier outputs, and the end node sets the output of the run', async () => {
    const { row } = await run(
      graph(
        {
          start: { type: 'start' },
          double: code('return ctx.input.n * 2;', { outputVariable: 'doubled' }),
          end: { type: 'end', outputParameters: [{ name: 'answer', sourceVariable: '{{ctx.doubled}}' }] },
        },
        ['start>double', 'double:success>end'],
      ),
      { n: 21 },
    );

    expect(row.error).toBeNull();
    expect(row).toMatchObject({ status: 'COMPLETED', output: { answer: 42 } });
  });

  test('branches run concurrently and a join waits for those still alive', async () => {
    const { row, events } = await run(
      graph({ start: { type: 'start' }, a: noop, b: noop, never: noop, join: noop }, [
        'start>a',
        'start>b',
        'a:yes>join',
        'b:yes>join',
        'a:default>never',
        'never:yes>join',
      ]),
    );

    expect(row.status).toBe('COMPLETED');
    expect(events.filter(({ node_id, status }) => node_id === 'join' && status === 'SUCCESS')).toHaveLength(1);
    expect(events.some(({ node_id }) => node_id === 'never')).toBe(false);
  });

  test('a failing node fails the run, and the error names the node and the reason', async () => {
    const { row } = await run(
      graph({ start: { type: 'start' }, bad: code('throw new Error("no luck")') }, ['start>bad']),
    );

    expect(row).toMatchObject({ status: 'FAILED', error: { code: 'NODE_FAILED', nodeID: 'bad', attempt: 1 } });
    expect(row.error?.message).toContain('no luck');
  });

  test('a connected error exit is taken instead of failing', async () => {
    const { row } = await run(
      graph(
        {
          start: { type: 'start' },
          bad: code('throw new Error("no luck")'),
          end: { type: 'end', outputParameters: [{ name: 'value', sourceVariable: '{{ctx.scriptResult}}' }] },
        },
        ['start>bad', 'bad:error>end'],
      ),
    );

    expect(row).toMatchObject({ status: 'COMPLETED', output: { value: null } });
  });

  test('a failing node is retried as often as its policy says', async () => {
    const { row, events } = await run(
      graph(
        { start: { type: 'start' }, bad: code('throw new Error("again")', { retryLimit: 2, retryDelaySeconds: 0 }) },
        ['start>bad'],
      ),
    );

    expect(row).toMatchObject({ status: 'FAILED', error: { attempt: 3 } });
    expect(events.filter(({ status }) => status === 'FAILED').map(({ attempt }) => attempt)).toEqual([1, 2, 3, 1]);
  });

  test('a failing node is retried after errors of the classes that it names only', async () => {
    const failing = (retryOn: string[]) =>
      run(
        graph({ start: { type: 'start' }, bad: code('throw new Error("again")', { ...once, retryOn }) }, ['start>bad']),
      );
    const once = { retryLimit: 1, retryDelaySeconds: 0 };

    expect((await failing(['timeout', 'upstream'])).row).toMatchObject({ status: 'FAILED', error: { attempt: 1 } });
    expect((await failing(['timeout', 'code'])).row).toMatchObject({ status: 'FAILED', error: { attempt: 2 } });
  });

  test('attempts are as many, as long and as far apart as the node says, else its kind, else all nodes of the workflow', async () => {
    await using service = await startHTTP(({ url }, response) => {
      if (url === '/busy') response.writeHead(503).end();
    });
    const call = (path: string, more: object = {}) => ({ type: 'http', url: service.origin + path, ...more });
    const shape = graph(
      {
        start: { type: 'start' },
        busy: call('/busy'),
        silent: call('/silent', { retryLimit: 0 }),
        end: { type: 'end' },
      },
      ['start>busy', 'start>silent', 'busy:error>end', 'silent:error>end'],
    );
    const versionID = await deployment.saveVersion(shape, {
      defaultNodeTimeoutSeconds: 1,
      defaultRetryLimit: 5,
      defaultRetryDelaySeconds: 0.3,
      nodeDefaults: { http: { retryLimit: 3 } },
    });
    const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));

    await eventually(async () => expect((await deployment.read(instanceID)).status).toBe('COMPLETED'));

    const failures = (await deployment.events(instanceID)).filter(({ status }) => status === 'FAILED');
    const of = (id: string) => failures.filter(({ node_id }) => node_id === id);
    expect(of('silent').map(({ payload }) => payload)).toMatchObject([{ error: { code: 'NODE_TIMEOUT' } }]);
    expect(of('busy').map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4]);
    const [third] = of('busy').slice(2);
    // Four times as long as the first, which is 375 ms at most.
    expect(Date.parse(String(third?.payload?.dueAt)) - Number(third?.created_at)).toBeGreaterThan(400);
  });

  test('an end with status failure fails the run', async () => {
    const { row } = await run(
      graph({ start: { type: 'start' }, end: { type: 'end', status: 'failure' } }, ['start>end']),
    );

    expect(row).toMatchObject({ status: 'FAILED', error: { nodeID: 'end' } });
  });

  test('a disabled node is passed through', async () => {
    const { row, events } = await run(
      graph(
        { start: { type: 'start' }, off: code('throw new Error("never")', { isDisabled: true }), end: { type: 'end' } },
        ['start>off', 'off:success>end'],
      ),
    );

    expect(row.status).toBe('COMPLETED');
    expect(events.find(({ node_id }) => node_id === 'off')).toMatchObject({ status: 'SKIPPED' });
  });

  test('commits that are ready at once and commits of parallel branches are never in two statements', async () => {
    const off = { ...code('throw new Error("never")'), isDisabled: true };
    const versionID = await deployment.saveVersion(
      graph({ start: { type: 'start' }, a: off, b: noop, c: off, d: noop, e: off, end: { type: 'end' } }, [
        'start>a',
        'start>b',
        'start>c',
        'a:success>d',
        'b:yes>d',
        'c:success>e',
        'd:yes>end',
        'e:success>end',
      ]),
    );
    const ids = await deployment.runs.acceptMany(Array.from({ length: 300 }, () => deployment.newRun(versionID)));

    await deployment.settle();

    const { rows } = await deployment.pool.query(
      'select status, epoch, count(*) as n from workflow_instance where id = any($1::uuid[]) group by 1, 2',
      [ids],
    );
    expect(rows).toEqual([{ status: 'COMPLETED', epoch: 1, n: 300 }]);
  });

  test('a short delay is waited for in the worker', async () => {
    const { row, events } = await run(
      graph({ start: { type: 'start' }, wait: { type: 'delay', delayMs: 50 }, end: { type: 'end' } }, [
        'start>wait',
        'wait>end',
      ]),
    );

    expect(row).toMatchObject({ status: 'COMPLETED', epoch: 1 });
    expect(events.find(({ status }) => status === 'SUSPENDED')).toMatchObject({ node_id: 'wait' });
  });

  test('a long delay parks the run without an owner, and the run continues when it is over', async () => {
    const versionID = await deployment.saveVersion(
      graph(
        { start: { type: 'start' }, wait: { type: 'delay', delaySeconds: 2, delayMs: 500 }, end: { type: 'end' } },
        ['start>wait', 'wait>end'],
      ),
    );
    const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));

    await eventually(async () => {
      expect(await deployment.read(instanceID)).toMatchObject({ status: 'WAITING', held_by: null, ready_at: null });
    });

    await eventually(async () => {
      expect(await deployment.read(instanceID)).toMatchObject({ status: 'COMPLETED', epoch: 2 });
    });
  });

  test('a sub-workflow is a run of its own and returns its outputs', async () => {
    const child = await deployment.saveWorkflow(
      graph(
        {
          start: { type: 'start' },
          sum: code('return ctx.input.a + ctx.input.b;', { outputVariable: 'sum' }),
          end: { type: 'end', outputParameters: [{ name: 'sum', sourceVariable: '{{ctx.sum}}' }] },
        },
        ['start>sum', 'sum:success>end'],
      ),
    );
    const { row } = await run(
      graph(
        {
          start: { type: 'start' },
          call: {
            type: 'subWorkflow',
            childWorkflowID: child.workflowID,
            inputMapping: { a: '{{ctx.input.a}}', b: 2 },
          },
          end: { type: 'end', outputParameters: [{ name: 'result', sourceVariable: '{{ctx.subResult.sum}}' }] },
        },
        ['start>call', 'call:success>end'],
      ),
      { a: 40 },
    );

    expect(row).toMatchObject({ status: 'COMPLETED', output: { result: 42 } });
  });

  test('a failing sub-workflow fails its parent with its error', async () => {
    const child = await deployment.saveWorkflow(
      graph({ start: { type: 'start' }, bad: code('throw new Error("deep down")') }, ['start>bad']),
    );
    const { row } = await run(
      graph({ start: { type: 'start' }, call: { type: 'subWorkflow', childWorkflowID: child.workflowID } }, [
        'start>call',
      ]),
    );

    expect(row.status).toBe('FAILED');
    expect(row.error?.message).toContain('deep down');
  });

  test('a sub-workflow is one level below its parent, and the limit of a node counts all levels', async () => {
    const inner = await deployment.saveWorkflow(noops(1));
    const calling = (childWorkflowID: string, maxDepth?: number) =>
      graph({ start: { type: 'start' }, call: { type: 'subWorkflow', childWorkflowID, maxDepth } }, ['start>call']);
    const shallow = await deployment.saveWorkflow(calling(inner.workflowID, 1));
    const deep = await deployment.saveWorkflow(calling(inner.workflowID, 2));

    const refused = await run(calling(shallow.workflowID));
    const { row, instanceID } = await run(calling(deep.workflowID));

    expect(refused.row).toMatchObject({
      status: 'FAILED',
      error: { message: expect.stringContaining('nested deeper than 1 levels') },
    });
    expect(row.status).toBe('COMPLETED');
    const { rows } = await deployment.pool.query(
      `with recursive line as (
         select id, depth from workflow_instance where id = $1
         union all select child.id, child.depth from workflow_instance child join line on child.parent_id = line.id
       )
       select depth from line`,
      [instanceID],
    );
    expect(rows).toEqual([{ depth: 0 }, { depth: 1 }, { depth: 2 }]);
  });

  test('an input that a sub-workflow refuses is named by its path in the config of the node', async () => {
    const child = await deployment.saveWorkflow(
      graph({ start: { type: 'start' }, end: { type: 'end' } }, ['start>end']),
      { inputDefinitions: [{ key: 'n', type: 'number', required: true }] },
    );
    const call = { type: 'subWorkflow', childWorkflowID: child.workflowID, inputMapping: { n: 'many' } };
    const { row } = await run(graph({ start: { type: 'start' }, call }, ['start>call']));

    expect(row).toMatchObject({
      status: 'FAILED',
      error: { code: 'VALIDATION_ERROR', nodeID: 'call', message: expect.stringMatching(/^inputMapping\.n: /) },
    });
  });

  test('a sub-workflow ends with its parent at the latest, and by its own time limit before', async () => {
    const waiting = graph({ start: { type: 'start' }, wait: { type: 'delay', delayMinutes: 5 } }, ['start>wait']);
    const patient = await deployment.saveWorkflow(waiting);
    const hasty = await deployment.saveWorkflow(waiting, { workflowRunTimeout: 20 });
    const call = (childWorkflowID: string) => ({ type: 'subWorkflow', childWorkflowID });
    const versionID = await deployment.saveVersion(
      graph({ start: { type: 'start' }, patient: call(patient.workflowID), hasty: call(hasty.workflowID) }, [
        'start>patient',
        'start>hasty',
      ]),
    );
    const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID, {}, { timeoutMs: 60_000 }));

    await eventually(async () => {
      const { rows } = await deployment.pool.query(
        `select child.parent_node_id as node, child.deadline_at = parent.deadline_at as with_parent,
           child.deadline_at <= now() + interval '20 s' as by_its_own
         from workflow_instance child join workflow_instance parent on parent.id = child.parent_id
         where parent.id = $1 order by 1`,
        [instanceID],
      );
      expect(rows).toEqual([
        { node: 'hasty', with_parent: false, by_its_own: true },
        { node: 'patient', with_parent: true, by_its_own: false },
      ]);
    });
  });

  test('a run that ends takes its children with it at once, without the sweep', async () => {
    await using server = await startHTTP((_request, response) => {
      response.statusCode = 500;
      void childStarted.promise.then(() => response.end('{}'));
    });
    const childStarted = Promise.withResolvers<void>();
    const waiting = graph({ start: { type: 'start' }, wait: { type: 'delay', delayMinutes: 5 } }, ['start>wait']);
    const { workflowID } = await deployment.saveWorkflow(waiting);
    const failing = { type: 'http', method: 'GET', url: server.origin, retryLimit: 0, errorHandling: 'fail_workflow' };
    const versionID = await deployment.saveVersion(
      graph({ start: { type: 'start' }, call: { type: 'subWorkflow', childWorkflowID: workflowID }, failing }, [
        'start>call',
        'start>failing',
      ]),
    );
    const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));
    const child = async () => {
      const { rows } = await deployment.pool.query<{ status: string }>(
        'select status from workflow_instance where parent_id = $1',
        [instanceID],
      );
      return rows[0]?.status;
    };
    await eventually(async () => expect(await child()).toBe('WAITING'));
    // The outbox entry would lead the sweep to the child.
    await deployment.pool.query('alter table run_wait disable trigger orphan');
    try {
      childStarted.resolve();

      await eventually(async () => expect(await child()).toBe('CANCELLED'));
    } finally {
      await deployment.pool.query('alter table run_wait enable trigger orphan');
    }
  });

  test('a run goes on at once when its sub-workflow ends, without the sweep', async () => {
    const slow = graph({ start: { type: 'start' }, wait: { type: 'delay', delayMs: 300 } }, ['start>wait']);
    const { workflowID } = await deployment.saveWorkflow(slow);
    const versionID = await deployment.saveVersion(
      graph({ start: { type: 'start' }, call: { type: 'subWorkflow', childWorkflowID: workflowID } }, ['start>call']),
    );
    // The outbox entry would lead the sweep to the end of the child.
    await deployment.pool.query('alter table workflow_instance disable trigger ended_child');
    try {
      const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));

      await eventually(async () => expect(await deployment.read(instanceID)).toMatchObject({ status: 'COMPLETED' }));
    } finally {
      await deployment.pool.query('alter table workflow_instance enable trigger ended_child');
    }
  });

  test('the time limit of code begins when it gets its turn in the sandbox', async () => {
    const busy = code('const end = Date.now() + 400; while (Date.now() < end); return 1;', { timeoutSeconds: 1 });
    const versionID = await deployment.saveVersion(graph({ start: { type: 'start' }, busy }, ['start>busy']));
    const accepted = await Promise.all(
      Array.from({ length: 5 }, () => deployment.runs.accept(deployment.newRun(versionID, {}))),
    );

    await deployment.settle();

    for (const { instanceID } of accepted) expect((await deployment.read(instanceID)).status).toBe('COMPLETED');
  });

  test('a sub-workflow is executed only for a caller who may execute it at that moment', async () => {
    const child = await deployment.saveWorkflow(
      graph({ start: { type: 'start' }, end: { type: 'end' } }, ['start>end']),
    );
    // Named by a template, so it could not be checked when the graph was saved.
    const versionID = await deployment.saveVersion(
      graph({ start: { type: 'start' }, call: { type: 'subWorkflow', childWorkflowID: '{{ctx.input.child}}' } }, [
        'start>call',
      ]),
    );
    const userID = newID();
    const { pool, tenantID } = deployment;
    async function runAsUser() {
      const caller = { type: 'user', id: userID, userID, origin: 'direct' } as const;
      const input = { child: child.workflowID };
      const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID, input, { caller }));
      await deployment.settle();
      return deployment.read(instanceID);
    }

    const stranger = await runAsUser();
    await pool.query(`insert into app_user (id, issuer, subject) values ($1, 'test', $2)`, [userID, userID]);
    await pool.query('insert into membership (tenant_id, user_id) values ($1, $2)', [tenantID, userID]);
    const member = await runAsUser();
    await pool.query(
      `insert into policy_rule (id, tenant_id, kind, subject, object, action) values ($1, $2, 'rule', $3, $4, 'execute')`,
      [newID(), tenantID, userID, `workflow:${child.workflowID}`],
    );
    await pool.query('update tenant set policy_version = policy_version + 1 where id = $1', [tenantID]);
    const allowed = await runAsUser();

    expect(stranger).toMatchObject({ status: 'FAILED', error: { nodeID: 'call' } });
    expect(member).toMatchObject({ status: 'FAILED', error: { nodeID: 'call' } });
    expect(allowed).toMatchObject({ status: 'COMPLETED' });
  });

  test('an output that is too large or cannot be stored fails only its own run', async () => {
    const large = run(
      graph({ start: { type: 'start' }, big: code('return "x".repeat(6 * 1024 * 1024)') }, ['start>big']),
    );
    const nul = run(graph({ start: { type: 'start' }, nul: code('return "a\\u0000b"') }, ['start>nul']));
    const half = run(graph({ start: { type: 'start' }, half: code('return "\\ud800"') }, ['start>half']));
    const fine = run(graph({ start: { type: 'start' }, fine: code('return "a\\\\u0000b"') }, ['start>fine']));

    expect((await large).row).toMatchObject({ status: 'FAILED', error: { code: 'OUTPUT_TOO_LARGE', nodeID: 'big' } });
    expect((await nul).row).toMatchObject({ status: 'FAILED', error: { code: 'INVALID_OUTPUT', nodeID: 'nul' } });
    expect((await half).row).toMatchObject({ status: 'FAILED', error: { code: 'INVALID_OUTPUT', nodeID: 'half' } });
    expect((await fine).row).toMatchObject({ status: 'COMPLETED' });
  });

  test('an error text with a cut emoji or NUL fails the node, and the run takes its error exit', async () => {
    const bad = code('throw new Error("no luck \\u{1F600}".slice(0, -1) + "\\0")');
    const handled = await run(
      graph({ start: { type: 'start' }, bad, end: { type: 'end' } }, ['start>bad', 'bad:error>end']),
    );
    const unhandled = await run(graph({ start: { type: 'start' }, bad }, ['start>bad']));

    expect(handled.row).toMatchObject({ status: 'COMPLETED' });
    const outcome = handled.events.find(({ status }) => status === 'FAILED');
    expect(outcome?.payload).toMatchObject({ error: { message: expect.stringContaining('no luck \uFFFD\uFFFD') } });
    expect(unhandled.row).toMatchObject({
      status: 'FAILED',
      error: { code: 'NODE_FAILED', nodeID: 'bad', message: expect.stringContaining('no luck \uFFFD\uFFFD') },
    });
  });

  test('stopping a run ends it before its node would, and nothing after it starts', async () => {
    const versionID = await deployment.saveVersion(
      graph({ start: { type: 'start' }, spin: code('while (true) {}'), after: noop }, [
        'start>spin',
        'spin:success>after',
      ]),
      { defaultNodeTimeoutSeconds: 600 },
    );
    const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));
    await eventually(async () => {
      const events = await deployment.events(instanceID);
      expect(events.at(-1)).toMatchObject({ node_id: 'spin', status: 'RUNNING' });
    });

    const status = await deployment.runs.stop(deployment.tenantID, instanceID);
    await deployment.settle();

    expect(status).toBe('CANCELLED');
    const events = await deployment.events(instanceID);
    expect(events.slice(-2)).toMatchObject([
      { node_id: 'spin', status: 'CANCELLED' },
      { node_id: null, status: 'CANCELLED' },
    ]);
    expect(await deployment.runs.stop(deployment.tenantID, instanceID)).toBe('CANCELLED');
  });

  test('another tenant cannot stop the run', async () => {
    const { instanceID } = await run(noops(1));

    expect(await deployment.runs.stop('00000000-0000-4000-8000-000000000000', instanceID)).toBeNull();
  });
});
