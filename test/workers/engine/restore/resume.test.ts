import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readRunEvents } from '#api/streams/watched-run-rows.ts';
import { presentRunEvent } from '#shared/messaging/realtime/run-events.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { code, graph, noop } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';

describe('a run that was parked continues', () => {
  let deployment: Deployment;
  beforeAll(async () => {
    deployment = await startDeployment({ RUN_OUTPUT_MAX_BYTES: '3000' });
    await deployment.startWorker();
  });
  afterAll(() => deployment[Symbol.asyncDispose]());

  const pause = { type: 'delay', delayMinutes: 5 };

  async function parked(shape: { nodes: object[]; edges: object[] }): Promise<string> {
    const versionID = await deployment.saveVersion(shape);
    const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));
    await isParked(instanceID);
    return instanceID;
  }

  async function isParked(id: string): Promise<void> {
    await eventually(async () =>
      expect(await deployment.read(id)).toMatchObject({ status: 'WAITING', held_by: null, ready_at: null }),
    );
  }

  /** Ends the waits of the run now instead of minutes later. */
  async function endWaits(id: string): Promise<void> {
    await deployment.pool.query('update run_wait set due_at = now() where instance_id = $1', [id]);
    await deployment.runs.wake([id]);
  }

  async function ended(id: string) {
    await eventually(async () => expect((await deployment.read(id)).status).toMatch(/^(COMPLETED|FAILED)$/));
    return deployment.read(id);
  }

  test('with the failures of its nodes counted', async () => {
    const bad = code('throw new Error("again")', { retryLimit: 2, retryDelaySeconds: 60 });
    const id = await parked(graph({ start: { type: 'start' }, bad }, ['start>bad']));
    await endWaits(id);
    await eventually(async () => expect(await deployment.read(id)).toMatchObject({ epoch: 2, status: 'WAITING' }));
    await isParked(id);
    await endWaits(id);

    expect(await ended(id)).toMatchObject({ status: 'FAILED', epoch: 3, error: { nodeID: 'bad', attempt: 3 } });
    const events = await deployment.events(id);
    const failures = events.filter(({ node_id, status }) => node_id === 'bad' && status === 'FAILED');
    expect(failures.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
  });

  test.each([2, 110])('and says so, also after a claim whose worker died at once (%d events before)', async (count) => {
    const names = Array.from({ length: count }, (_, at) => `n${at}`);
    const steps = ['start', ...names, 'pause', 'again', 'end'];
    const edges = steps
      .slice(1)
      .map((to, at) => `${steps[at]}${names.includes(steps[at] ?? '') ? ':default' : ''}>${to}`);
    const nodes = {
      ...Object.fromEntries(names.map((name) => [name, { ...noop, isDisabled: true }])),
      pause,
      again: pause,
    };
    const id = await parked(graph({ start: { type: 'start' }, ...nodes, end: { type: 'end' } }, edges));
    await deployment.pool.query(
      `update workflow_instance set status = 'RUNNING', epoch = epoch + 1, held_by = null where id = $1`,
      [id],
    );
    await endWaits(id);
    await isParked(id);
    await endWaits(id);
    await ended(id);

    const { rows } = await readRunEvents(deployment.pool, id, { after: 0 });
    const messages = rows.flatMap(presentRunEvent).filter(({ event }) => event === 'workflow_status_update');
    expect(messages.map(({ payload }) => 'status' in payload && payload.status)).toEqual([
      ...['WAITING', 'RUNNING', 'WAITING', 'RUNNING'],
      'COMPLETED',
    ]);
    expect(messages[0]?.payload).toMatchObject({ waiting: { reason: 'delay', until: expect.any(String) } });
  });

  test('with the time at which it first began', async () => {
    const id = await parked(graph({ start: { type: 'start' }, pause }, ['start>pause']));
    const began = async () => {
      const { rows } = await deployment.pool.query('select started_at from workflow_instance where id = $1', [id]);
      return rows[0];
    };
    const first = await began();
    await endWaits(id);

    expect(await ended(id)).toMatchObject({ status: 'COMPLETED', epoch: 2 });
    expect(await began()).toEqual(first);
  });

  test('with the outputs of the ends that it reached before, and with the values of its nodes', async () => {
    const end = (name: string, sourceVariable: unknown) => ({
      type: 'end',
      outputParameters: [{ name, sourceVariable }],
    });
    const id = await parked(
      graph(
        {
          start: { type: 'start' },
          early: code('return 1', { outputVariable: 'early' }),
          first: end('first', '{{ctx.early}}'),
          pause,
          second: end('second', '{{ctx.early}}'),
        },
        ['start>early', 'early:success>first', 'early:success>pause', 'pause>second'],
      ),
    );
    await endWaits(id);

    expect(await ended(id)).toMatchObject({ status: 'COMPLETED', output: { first: 1, second: 1 } });
  });

  test('with the status of an end that it reached before', async () => {
    const id = await parked(
      graph(
        {
          start: { type: 'start' },
          no: { type: 'end', status: 'failure', cancelOthers: false },
          pause,
          yes: { type: 'end' },
        },
        ['start>no', 'start>pause', 'pause>yes'],
      ),
    );
    await endWaits(id);

    expect(await ended(id)).toMatchObject({ status: 'FAILED', error: { nodeID: 'no' } });
  });

  test('without repeating a node that was skipped, or whose failure was handled', async () => {
    const id = await parked(
      graph(
        {
          start: { type: 'start' },
          off: code('return 1', { isDisabled: true }),
          bad: code('throw new Error("no")', { outputVariable: 'bad' }),
          pause,
          end: {
            type: 'end',
            outputParameters: [
              { name: 'bad', sourceVariable: '{{ctx.bad}}' },
              { name: 'error', sourceVariable: '{{ctx.error}}' },
            ],
          },
        },
        ['start>off', 'off:success>bad', 'bad:error>pause', 'pause>end'],
      ),
    );
    await endWaits(id);

    const error = { code: 'NODE_FAILED', message: 'Error: no (line 1)', nodeID: 'bad', attempt: 1, frame: [] };
    expect(await ended(id)).toMatchObject({ status: 'COMPLETED', output: { bad: null, error } });
    const events = await deployment.events(id);
    const outcomes = events.filter(({ node_id, status }) => node_id && status !== 'RUNNING');
    expect(outcomes.map(({ node_id, status }) => `${node_id} ${status}`)).toEqual([
      'start SUCCESS',
      'off SKIPPED',
      'bad FAILED',
      'pause SUSPENDED',
      'pause SUCCESS',
      'end SUCCESS',
    ]);
  });

  test('and parks again for those of its waits that are not over', async () => {
    const longer = { type: 'delay', delayMinutes: 30 };
    const id = await parked(graph({ start: { type: 'start' }, pause, longer }, ['start>pause', 'start>longer']));
    await deployment.pool.query(`update run_wait set due_at = now() where instance_id = $1 and node_id = 'pause'`, [
      id,
    ]);
    await deployment.runs.wake([id]);
    await eventually(async () => expect(await deployment.read(id)).toMatchObject({ epoch: 2, status: 'WAITING' }));
    await isParked(id);

    const { rows } = await deployment.pool.query<{ node_id: string; due_at: Date }>(
      'select node_id, due_at from run_wait where instance_id = $1',
      [id],
    );
    expect(rows).toEqual([{ node_id: 'longer', due_at: (await deployment.read(id)).wake_at }]);
    await endWaits(id);
    expect(await ended(id)).toMatchObject({ status: 'COMPLETED', epoch: 3 });
  });

  const large = code('return "x".repeat(2000)');

  test('with the size of its earlier outputs counted', async () => {
    const id = await parked(
      graph({ start: { type: 'start' }, large, small: code('return 1'), pause, more: large }, [
        'start>large',
        'large:success>small',
        'small:success>pause',
        'pause>more',
      ]),
    );
    await endWaits(id);

    expect(await ended(id)).toMatchObject({ status: 'FAILED', error: { code: 'OUTPUT_TOO_LARGE', nodeID: 'more' } });
  });

  test('as one that was never parked: its outputs count together', async () => {
    const versionID = await deployment.saveVersion(
      graph({ start: { type: 'start' }, large, more: large }, ['start>large', 'large:success>more']),
    );
    const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));

    expect(await ended(instanceID)).toMatchObject({ error: { code: 'OUTPUT_TOO_LARGE', nodeID: 'more' } });
  });
});
