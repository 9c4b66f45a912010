import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isJsonObject, type JsonObject } from '#shared/core/json.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { graph } from '#test/support/graphs.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';
import { nextMoment } from '#workers/engine/waits/reminders.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment({ WORKER_SESSION_SECONDS: '2' });
});
afterAll(() => deployment[Symbol.asyncDispose]());

const question = {
  type: 'approval',
  title: 'Pay?',
  expiryMinutes: 60,
  reminders: [{ minutes: 10 }, { minutes: 5, from: 'expiry' }],
};
const shape = (more: Record<string, { type: string; [field: string]: unknown }> = {}) =>
  graph({ start: { type: 'start' }, ask: question, end: { type: 'end' }, ...more }, [
    'start>ask',
    'ask:approved>end',
    'ask:expired>end',
    ...Object.keys(more).map((id) => `start>${id}`),
  ]);

async function begun(given = shape()): Promise<string> {
  const versionID = await deployment.saveVersion(given);
  return (await deployment.runs.accept(deployment.newRun(versionID))).instanceID;
}

async function isParked(id: string): Promise<void> {
  await eventually(async () =>
    expect(await deployment.read(id)).toMatchObject({ status: 'WAITING', held_by: null, ready_at: null }),
  );
}

/** Lets time pass, for a question and for the wait for its answer. */
async function after(id: string, minutes: number): Promise<void> {
  const { pool } = deployment;
  await pool.query(
    `update collection_request set created_at = created_at - make_interval(mins => $2), expires_at = expires_at - make_interval(mins => $2)
     where instance_id = $1`,
    [id, minutes],
  );
  await pool.query('update run_wait set due_at = due_at - make_interval(mins => $2) where instance_id = $1', [
    id,
    minutes,
  ]);
  await pool.query(
    'update workflow_instance set wake_at = wake_at - make_interval(mins => $2) where id = $1 and held_by is null',
    [id, minutes],
  );
}

async function reminders(id: string): Promise<unknown[]> {
  const events = await deployment.events(id);
  return events.flatMap(({ payload }) => payload?.reminder ?? []);
}

/** The minutes until the question ends, as the messages that the run waits say. */
async function minutesTold(id: string): Promise<number[]> {
  const events = await deployment.events(id);
  return events.flatMap(({ payload }) => {
    const { waits } = payload ?? {};
    return isJsonObject(waits) ? Math.round((Date.parse(String(waits.until)) - Date.now()) / 60_000) : [];
  });
}

const reminder = (number: number) => ({ collectionRequestID: expect.any(String), number, of: 2 });

test('a question reminds at each of its times, once, and then expires as it would without', async () => {
  await using worker = await deployment.startWorker();
  const id = await begun();
  await isParked(id);
  const { rows } = await deployment.pool.query<{ minutes: number }>(
    'select round(extract(epoch from wake_at - now()) / 60)::int as minutes from workflow_instance where id = $1',
    [id],
  );
  expect(rows).toEqual([{ minutes: 10 }]);
  // Clients are told when the question expires, which is not when the run is woken next.
  expect(await minutesTold(id)).toEqual([60]);

  await after(id, 11);
  await worker.sweep.once();
  await eventually(async () => expect(await reminders(id)).toEqual([reminder(1)]));
  await eventually(async () => expect(await minutesTold(id)).toEqual([60, 49]));
  await isParked(id);
  // A wake that has another cause reminds of nothing.
  await deployment.runs.wake([id]);
  await eventually(async () => expect((await deployment.read(id)).epoch).toBe(3));
  await isParked(id);
  expect(await reminders(id)).toEqual([reminder(1)]);

  await after(id, 45);
  await worker.sweep.once();
  await eventually(async () => expect(await reminders(id)).toEqual([reminder(1), reminder(2)]));
  await isParked(id);
  await after(id, 10);
  await worker.sweep.once();
  await eventually(async () => expect(await deployment.read(id)).toMatchObject({ status: 'COMPLETED' }));
  expect(await reminders(id)).toHaveLength(2);
});

test('when another branch has gone on, clients are told again when the question expires', async () => {
  await using _worker = await deployment.startWorker();
  const id = await begun(shape({ other: { type: 'delay', delayMinutes: 30 } }));
  await isParked(id);

  await deployment.pool.query(`update run_wait set due_at = now() where instance_id = $1 and node_id = 'other'`, [id]);
  await deployment.runs.wake([id]);

  await eventually(async () => expect(await minutesTold(id)).toEqual([60, 60]));
  await deployment.runs.stop(deployment.tenantID, id);
});

test('an answer ends the reminders', async () => {
  await using worker = await deployment.startWorker();
  const id = await begun();
  await isParked(id);
  await deployment.pool.query(
    `update collection_request set status = 'COMPLETED', submitted_data = '{"decision":"approve"}' where instance_id = $1`,
    [id],
  );
  await after(id, 58);
  await worker.sweep.once();
  await eventually(async () => expect(await deployment.read(id)).toMatchObject({ status: 'COMPLETED' }));
  expect(await reminders(id)).toEqual([]);
});

test('a worker that is killed between two reminders, while it owns the run, repeats none and leaves out none', async () => {
  const openResponses: ServerResponse[] = [];
  await using server = await startHTTP((_request, response) => void openResponses.push(response));
  let id = '';
  {
    await using process = spawnNode(['workers/main.ts', 'workflow.runs'], deployment.env);
    id = await begun(shape({ call: { type: 'http', url: server.origin } }));
    await eventually(async () => {
      expect(openResponses).toHaveLength(1);
      expect((await deployment.events(id)).some(({ status }) => status === 'SUSPENDED')).toBe(true);
    });
    await after(id, 11);
    await deployment.runs.wake([id]);
    await eventually(async () => expect(await reminders(id)).toEqual([reminder(1)]));
    await process.kill('SIGKILL');
  }
  await after(id, 45);
  await using _worker = await deployment.startWorker();
  await eventually(() => expect(openResponses).toHaveLength(2));
  openResponses[1]?.end('{}');
  await isParked(id);
  expect(await reminders(id)).toEqual([reminder(1), reminder(2)]);
  await deployment.runs.stop(deployment.tenantID, id);
}, 180_000);

test('the next moment of a question is its next reminder, or its end', () => {
  const config: JsonObject = { reminders: [1, 5] };
  expect(nextMoment({ config, askedMs: 0, expiresInMs: 600_000 })).toEqual({ inMs: 60_000, due: 0 });
  expect(nextMoment({ config, askedMs: 60_000, expiresInMs: 540_000 })).toEqual({ inMs: 240_000, due: 1 });
  expect(nextMoment({ config, askedMs: 300_000, expiresInMs: 300_000 })).toEqual({ inMs: 300_000, due: 2 });
  expect(nextMoment({ config, askedMs: 300_000, expiresInMs: null })).toEqual({ inMs: null, due: 2 });
  expect(nextMoment({ config: {}, askedMs: 0, expiresInMs: null })).toEqual({ inMs: null, due: 0 });
});
