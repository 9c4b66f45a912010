import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { code, graph } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';
import type { WorkerContext } from '#workers/context.ts';

describe('the question of a run', () => {
  let deployment: Deployment;
  let worker: WorkerContext;
  beforeAll(async () => {
    deployment = await startDeployment();
    worker = await deployment.startWorker();
  });
  afterAll(() => deployment[Symbol.asyncDispose]());

  const ask = { type: 'dataCollection', fields: [{ key: 'answer' }], timeoutHandle: 'late' };
  const alone = graph(
    {
      start: { type: 'start' },
      ask,
      end: { type: 'end', outputParameters: [{ name: 'data', sourceVariable: '{{ctx.collectedData}}' }] },
    },
    ['start>ask', 'ask:output>end', 'ask:late>end'],
  );

  async function accepted(shape = alone): Promise<string> {
    const versionID = await deployment.saveVersion(shape);
    return (await deployment.runs.accept(deployment.newRun(versionID))).instanceID;
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

  test('whose answer did not wake the run is found by the repair', async () => {
    const id = await parked();
    await answer(id);

    // The repair belongs to every tenth round.
    await eventually(async () => {
      await worker.sweep.once();
      expect((await deployment.read(id)).status).not.toBe('WAITING');
    }, 5000);

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

  test('is not left open when another branch fails the run in the same commit', async () => {
    const bad = { type: 'delay', delayType: 'dynamic', delayVariable: 'no number' };
    const id = await accepted(graph({ start: { type: 'start' }, ask, bad }, ['start>ask', 'start>bad']));

    await ends(id, { status: 'FAILED', error: { nodeID: 'bad' } });
    expect(await questionsOf(id)).not.toContain('PENDING');
  });
});
