import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { NewRun } from '#shared/runs/accept.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { code, graph } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';
import type { WorkerContext } from '#workers/process/worker.ts';

describe('the question of a run', () => {
  let deployment: Deployment;
  let worker: WorkerContext;
  beforeAll(async () => {
    deployment = await startDeployment();
    worker = await deployment.startWorker();
  });
  afterAll(() => deployment[Symbol.asyncDispose]());

  const ask = { type: 'dataCollection', fields: [{ key: 'answer' }], expiryMinutes: 60, timeoutHandle: 'late' };
  const alone = graph(
    {
      start: { type: 'start' },
      ask,
      end: { type: 'end', outputParameters: [{ name: 'data', sourceVariable: '{{ctx.collectedData}}' }] },
    },
    ['start>ask', 'ask:output>end', 'ask:late>end'],
  );

  test('has the time of its workflow if its node has none, and reminders only within it', async () => {
    const { expiryMinutes: _, ...form } = ask;
    const asks = {
      own: ask,
      ofWorkflow: { ...form, reminders: [{ minutes: 2 }, { minutes: 30 }, { minutes: 1, from: 'expiry' }] },
      approval: { type: 'approval' },
    };
    const shape = graph({ start: { type: 'start' }, ...asks }, ['start>own', 'start>ofWorkflow', 'start>approval']);
    const versionID = await deployment.saveVersion(shape, { humanInLoopTimeout: '10 min' });
    const plainID = await deployment.saveVersion(graph({ start: { type: 'start' }, form }, ['start>form']));
    const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));
    const { instanceID: plain } = await deployment.runs.accept(deployment.newRun(plainID));

    const asked = async (id: string) => {
      const { rows } = await deployment.pool.query<{ node: string; minutes: number; reminders: number[] | null }>(
        `select node_id as node, round(extract(epoch from expires_at - created_at) / 60)::int as minutes,
           collection_config -> 'reminders' as reminders
         from collection_request where instance_id = $1 order by node_id`,
        [id],
      );
      return rows;
    };
    await eventually(async () => {
      expect(await asked(instanceID)).toEqual([
        { node: 'approval', minutes: 10, reminders: null },
        { node: 'ofWorkflow', minutes: 10, reminders: [2, 9] },
        { node: 'own', minutes: 60, reminders: null },
      ]);
      expect(await asked(plain)).toEqual([{ node: 'form', minutes: 60, reminders: null }]);
    });
  });

  const over = { type: 'log', message: 'No answer came' };
  const inBranches = graph({ start: { type: 'start' }, ask, other: ask, over }, [
    'start>ask',
    'start>other',
    'ask:late>over',
    'other:late>over',
  ]);

  async function accepted(shape = alone, more: Partial<NewRun> = {}): Promise<string> {
    const versionID = await deployment.saveVersion(shape);
    return (await deployment.runs.accept(deployment.newRun(versionID, {}, more))).instanceID;
  }

  async function parked(): Promise<string> {
    const id = await accepted();
    await eventually(async () =>
      expect(await deployment.read(id)).toMatchObject({ status: 'WAITING', held_by: null, ready_at: null }),
    );
    expect(await questionsOf(id)).toEqual(['PENDING']);
    return id;
  }

  async function questionsOf(id: string): Promise<string[]> {
    const { rows } = await deployment.pool.query<{ status: string }>(
      'select status from collection_request where instance_id = $1',
      [id],
    );
    return rows.map(({ status }) => status);
  }

  /** Answers without waking the run, as a process that dies after its commit. */
  async function answer(id: string): Promise<void> {
    await deployment.pool.query(
      `update collection_request set status = 'COMPLETED', submitted_data = '{"answer":"yes"}' where instance_id = $1`,
      [id],
    );
  }

  async function ends(id: string, expected: object): Promise<void> {
    await eventually(async () => expect(await deployment.read(id)).toMatchObject(expected));
    const { rows } = await deployment.pool.query('select from run_wait where instance_id = $1', [id]);
    expect(rows).toEqual([]);
  }

  test('stays answered when its time is over before the run continues', async () => {
    const id = await parked();
    await answer(id);
    await deployment.pool.query(
      `update collection_request set expires_at = now() - interval '1 second' where instance_id = $1`,
      [id],
    );
    await deployment.runs.wake([id]);

    await ends(id, { status: 'COMPLETED', output: { data: { answer: 'yes' } } });
    expect(await questionsOf(id)).toEqual(['COMPLETED']);
  });

  test('expires when its time is over, and the run leaves by the exit for that', async () => {
    const id = await parked();
    await deployment.pool.query(
      `update collection_request set expires_at = now() - interval '1 second' where instance_id = $1`,
      [id],
    );
    await deployment.runs.wake([id]);

    await ends(id, { status: 'COMPLETED', output: { data: null } });
    expect(await questionsOf(id)).toEqual(['EXPIRED']);
  });

  test('stays answered when that of another branch expires', async () => {
    const id = await accepted(inBranches);
    await eventually(async () => {
      expect(await deployment.read(id)).toMatchObject({ status: 'WAITING', held_by: null, ready_at: null });
      expect(await questionsOf(id)).toEqual(['PENDING', 'PENDING']);
    });
    // The time of both is over; one was answered before.
    await deployment.pool.query(
      `update collection_request set expires_at = now() - interval '1 second',
         status = case when node_id = 'ask' then 'COMPLETED' else status end, submitted_data = '{"answer":"yes"}'
       where instance_id = $1`,
      [id],
    );
    await deployment.runs.wake([id]);

    await ends(id, { status: 'COMPLETED' });
    expect((await questionsOf(id)).sort()).toEqual(['COMPLETED', 'EXPIRED']);
  });

  test('stays open when that of another branch expires', async () => {
    const id = await accepted(inBranches);
    await eventually(async () => {
      expect(await deployment.read(id)).toMatchObject({ status: 'WAITING', held_by: null, ready_at: null });
      expect(await questionsOf(id)).toEqual(['PENDING', 'PENDING']);
    });
    await deployment.pool.query(
      `update collection_request set expires_at = now() - interval '1 second' where instance_id = $1 and node_id = 'ask'`,
      [id],
    );
    await deployment.runs.wake([id]);
    await eventually(async () => {
      expect(await deployment.read(id)).toMatchObject({ status: 'WAITING', epoch: 2, held_by: null });
      expect((await questionsOf(id)).sort()).toEqual(['EXPIRED', 'PENDING']);
    });

    await deployment.pool.query(
      `update collection_request set status = 'COMPLETED', submitted_data = '{}' where instance_id = $1 and status = 'PENDING'`,
      [id],
    );
    await deployment.runs.wake([id]);
    await ends(id, { status: 'COMPLETED' });
    expect((await questionsOf(id)).sort()).toEqual(['COMPLETED', 'EXPIRED']);
  });

  describe('while another branch keeps the run owned', () => {
    const wait = { type: 'delay', delaySeconds: 1, delayMs: 500 };
    const busy = (question: typeof ask) =>
      graph({ start: { type: 'start' }, ask: question, wait, over }, ['start>ask', 'start>wait', 'ask:late>over']);

    async function outcomes(id: string): Promise<string[]> {
      await ends(id, { status: 'COMPLETED', epoch: 1 });
      const events = await deployment.events(id);
      return events.flatMap(({ node_id, status, exit }) =>
        status === 'SUCCESS' && (node_id === 'ask' || node_id === 'wait') ? [`${node_id} ${exit}`] : [],
      );
    }

    test('is answered at once', async () => {
      const id = await accepted(busy(ask));
      await eventually(async () => expect(await questionsOf(id)).toEqual(['PENDING']));
      await answer(id);
      await deployment.runs.wake([id]);

      expect(await outcomes(id)).toEqual(['ask output', 'wait output']);
    });

    test('expires soon after its time, by the clock of the database', async () => {
      const id = await accepted(busy({ ...ask, expiryMinutes: 0.4 / 60 }));
      await eventually(async () => expect(await questionsOf(id)).toEqual(['PENDING']));
      // So the timer of the worker is early.
      await deployment.pool.query(
        `update collection_request set expires_at = expires_at + interval '0.2 seconds' where instance_id = $1`,
        [id],
      );

      expect(await outcomes(id)).toEqual(['ask late', 'wait output']);
    });
  });

  test('whose answer did not wake the run is found by the repair', async () => {
    const id = await parked();
    await answer(id);

    // Two seconds after the answer.
    await eventually(async () => {
      await worker.sweep.once();
      expect((await deployment.read(id)).status).not.toBe('WAITING');
    });

    await ends(id, { status: 'COMPLETED', output: { data: { answer: 'yes' } } });
  });

  test('is cancelled when the run is stopped', async () => {
    const id = await parked();
    await deployment.runs.stop(deployment.tenantID, id);

    await ends(id, { status: 'CANCELLED' });
    expect(await questionsOf(id)).toEqual(['CANCELLED']);
  });

  test('is cancelled when another branch fails the run', async () => {
    const id = await accepted(
      graph(
        { start: { type: 'start' }, ask, wait: { type: 'delay', delayMs: 300 }, bad: code('throw new Error("no")') },
        ['start>ask', 'start>wait', 'wait>bad'],
      ),
    );
    await eventually(async () => expect(await questionsOf(id)).toEqual(['PENDING']));

    await ends(id, { status: 'FAILED', error: { nodeID: 'bad' } });
    expect(await questionsOf(id)).toEqual(['CANCELLED']);
  });

  const callsItself = newID();

  test.each([
    { moment: 'before it waits', bad: { type: 'delay', delayType: 'dynamic', delayVariable: 'no number' } },
    { moment: 'when it waits', bad: { type: 'subWorkflow', childWorkflowID: callsItself } },
  ])('is not left open when another branch fails the run $moment, in the same commit', async ({ bad }) => {
    const shape = graph({ start: { type: 'start' }, ask, bad }, ['start>ask', 'start>bad']);
    const id = await accepted(shape, { workflowID: callsItself });

    await ends(id, { status: 'FAILED', error: { nodeID: 'bad' } });
    expect(await questionsOf(id)).not.toContain('PENDING');
  });
});
