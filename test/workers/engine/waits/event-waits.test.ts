import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Caller } from '#shared/core/caller.ts';
import { newID } from '#shared/core/ids.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { createEvents, type Events, type NewEvent } from '#shared/runs/send-event.ts';
import { GIVE_EVENT, INSERT_EVENT } from '#shared/runs/workflow-event-rows.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { graph } from '#test/support/graphs.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';
import { createReadEventWaits } from '#workers/engine/waits/event-waits.ts';
import type { WorkerContext } from '#workers/process/worker.ts';

let deployment: Deployment;
let worker: WorkerContext;
let events: Events;
let sender: Caller;
const result = { type: 'end', outputParameters: [{ name: 'data', sourceVariable: '{{ctx.event}}' }] };

beforeAll(async () => {
  deployment = await startDeployment();
  worker = await deployment.startWorker();
  const { pool, runs } = deployment;
  events = createEvents({ pool, runs, rights: { may: async () => true } });
  sender = { type: 'system', id: deployment.tenantID, origin: 'direct' };
});
afterAll(() => deployment[Symbol.asyncDispose]());

function waiting(more: JsonObject = {}) {
  const wait = { type: 'waitForEvent', eventName: 'paid', eventKey: '{{ctx.input.key}}', ...more };
  const late = { type: 'end', outputParameters: [{ name: 'late', sourceVariable: '{{ctx.event}}' }] };
  return graph({ start: { type: 'start' }, wait, end: result, late }, [
    'start>wait',
    'wait:received>end',
    'wait:expired>late',
  ]);
}

async function begun(key: string, shape = waiting()): Promise<string> {
  const versionID = await deployment.saveVersion(shape);
  return (await deployment.runs.accept(deployment.newRun(versionID, { key }))).instanceID;
}

async function parked(key: string, shape = waiting()): Promise<string> {
  const id = await begun(key, shape);
  await eventually(async () =>
    expect(await deployment.read(id)).toMatchObject({ status: 'WAITING', held_by: null, ready_at: null }),
  );
  return id;
}

function send(key: string, data: Json = null, more: Partial<NewEvent> = {}) {
  return events.send({
    tenantID: deployment.tenantID,
    name: 'paid',
    key,
    data,
    rememberSeconds: 3600,
    caller: sender,
    ...more,
  });
}

/** Stores an event as a process that dies before it tells the runs that wait. */
async function storeOnly(key: string, ageSeconds: number): Promise<string> {
  const id = newID();
  const { pool, tenantID } = deployment;
  await pool.query(INSERT_EVENT, [id, tenantID, 'paid', key, '"stored"', JSON.stringify(sender), 3600]);
  await pool.query('update workflow_event set created_at = now() - make_interval(secs => $2) where id = $1', [
    id,
    ageSeconds,
  ]);
  return id;
}

async function ends(id: string, expected: object): Promise<void> {
  await eventually(async () => expect(await deployment.read(id)).toMatchObject(expected));
  const { rows } = await deployment.pool.query(
    'select from run_wait where instance_id = $1 union all select from event_wait where instance_id = $1 and is_open',
    [id],
  );
  expect(rows).toEqual([]);
}

describe('an event', () => {
  test('reaches every run that waits for its name and key, and no other; the answer names them', async () => {
    const key = newID();
    const [one, two, other] = await Promise.all([parked(key), parked(key), parked(newID())]);

    const { reached, runs } = await send(key, { amount: 5 });
    expect(reached).toBe(2);
    expect(runs.map(({ instanceID }) => instanceID).sort()).toEqual([one, two].sort());
    for (const id of [one, two]) await ends(id, { status: 'COMPLETED', output: { data: { amount: 5 } } });
    expect((await send(key, null, { name: 'shipped' })).reached).toBe(0);
    expect(await deployment.read(other)).toMatchObject({ status: 'WAITING' });
  });

  test('that comes first is remembered, also after it has reached a run, for as long as it says', async () => {
    const key = newID();
    expect((await send(key, 'early')).reached).toBe(0);
    for (const id of [await begun(key), await begun(key)])
      await ends(id, { status: 'COMPLETED', output: { data: 'early' } });

    const forgotten = newID();
    await send(forgotten, 'now only', { rememberSeconds: 0 });
    const id = await parked(forgotten);
    expect((await send(forgotten, 'again', { rememberSeconds: 0 })).runs).toMatchObject([{ instanceID: id }]);
    await ends(id, { output: { data: 'again' } });
  });

  test('that came first is left to no sender but its own: one who may not reach the workflow hides no other', async () => {
    const key = newID();
    const [stranger, colleague] = [newID(), newID()].map((id): Caller => ({ type: 'system', id, origin: 'direct' }));
    const rights = { may: async ({ caller }: { caller: Caller }) => caller.id === colleague?.id };
    const read = createReadEventWaits({ pool: deployment.pool, rights });
    const id = await parked(key);
    const { rows } = await deployment.pool.query<{ ref: string }>('select ref from run_wait where instance_id = $1', [
      id,
    ]);
    const stored = async (caller: Caller | undefined, age: number) => {
      const eventID = await storeOnly(key, age);
      await deployment.pool.query('update workflow_event set caller = $2 where id = $1', [
        eventID,
        JSON.stringify(caller),
      ]);
      return eventID;
    };
    await stored(stranger, 20);
    const allowed = await stored(colleague, 10);

    const found = await read(rows.map(({ ref }) => ref));

    expect([...found.values()]).toMatchObject([{ id: allowed }]);
  });

  test('that came first is not taken by a node that does not look back', async () => {
    const key = newID();
    await send(key, 'early');
    const id = await parked(key, waiting({ lookbackMinutes: 0 }));
    await send(key, 'later');
    await ends(id, { output: { data: 'later' } });
  });

  test('is taken by a run once, the oldest first, and by all nodes that wait when it comes', async () => {
    const key = newID();
    const wait = { type: 'waitForEvent', eventName: 'paid', eventKey: '{{ctx.input.key}}' };
    const inOrder = graph(
      {
        start: { type: 'start' },
        each: { type: 'loop', sourceVariable: [1, 2] },
        wait,
        end: { type: 'end', outputParameters: [{ name: 'data', sourceVariable: '{{ctx.loopResults}}' }] },
      },
      ['start>each', 'each:loop>wait', 'each:completed>end'],
    );
    await send(key, 'first');
    const id = await begun(key, inOrder);
    await eventually(async () => expect(await openWaits(id, { taken: 1 })).toBe(1));
    await send(key, 'second');
    await ends(id, { status: 'COMPLETED' });
    const { output } = await deployment.read(id);
    expect(JSON.stringify(output)).toMatch(/first.*second/);

    const both = newID();
    const pair = await parked(both, graph({ start: { type: 'start' }, a: wait, b: wait }, ['start>a', 'start>b']));
    expect((await send(both)).reached).toBe(1);
    await ends(pair, { status: 'COMPLETED' });
  });

  test('that is sent while runs begin to wait is lost by none of them', async () => {
    const shape = waiting();
    const versionID = await deployment.saveVersion(shape);
    const keys = Array.from({ length: 40 }, () => newID());
    const ids = await Promise.all(
      keys.map(async (key) => {
        const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID, { key }));
        // At some moment around the commit that begins the wait; the race is what is tested.
        void eventually(async () => expect((await deployment.read(instanceID)).status).not.toBe('PENDING')).then(() =>
          send(key, 'here'),
        );
        return instanceID;
      }),
    );
    for (const id of ids) await ends(id, { status: 'COMPLETED', output: { data: 'here' } });
  });
});

async function openWaits(id: string, { taken }: { taken: number }): Promise<number> {
  const { rows } = await deployment.pool.query<{ open: number; taken: number }>(
    `select count(*) filter (where is_open)::int as open, count(*) filter (where event_id is not null)::int as taken
     from event_wait where instance_id = $1`,
    [id],
  );
  expect(rows[0]?.taken).toBe(taken);
  return rows[0]?.open ?? 0;
}

describe('a wait for an event', () => {
  test('ends by its exit when its time is over, or fails its node', async () => {
    const late = await begun(newID(), waiting({ expiryMinutes: 0.3 / 60 }));
    await ends(late, { status: 'COMPLETED', output: { late: null } });
    const failing = await begun(newID(), waiting({ expiryMinutes: 0.3 / 60, onTimeout: 'fail' }));
    await ends(failing, { status: 'FAILED', error: { code: 'NODE_TIMEOUT', nodeID: 'wait' } });
    const { edges, nodes } = waiting({ expiryMinutes: 0.3 / 60 });
    const unconnected = { nodes: nodes.slice(0, 3), edges: edges.slice(0, 2) };
    await ends(await begun(newID(), unconnected), { status: 'FAILED', error: { code: 'NODE_FAILED', nodeID: 'wait' } });
  });

  test('that fails and is passed over leaves as if no event came, and fails its run if that leads nowhere', async () => {
    const passed = { expiryMinutes: 0.3 / 60, onTimeout: 'fail', errorHandling: 'continue' };
    await ends(await begun(newID(), waiting(passed)), { status: 'COMPLETED', output: { late: null } });

    const { edges, nodes } = waiting(passed);
    const unconnected = { nodes: nodes.slice(0, 3), edges: edges.slice(0, 2) };
    const failed = { status: 'FAILED', error: { code: 'NODE_TIMEOUT', nodeID: 'wait' } };
    await ends(await begun(newID(), unconnected), failed);
  });

  test('whose time was over when an event came does not take it, and one that came in time wins', async () => {
    const [tooLate, inTime] = [newID(), newID()];
    const [one, two] = await Promise.all([parked(tooLate), parked(inTime)]);
    const { pool, runs } = deployment;
    await storeOnly(inTime, 1);
    await pool.query(`update event_wait set expires_at = now() - interval '0.5 seconds' where instance_id = any($1)`, [
      [one, two],
    ]);
    expect((await send(tooLate)).reached).toBe(0);
    await runs.wake([one, two]);

    await ends(one, { output: { late: null } });
    await ends(two, { output: { data: 'stored' } });
  });

  test('ends with its run: no event reaches it after that', async () => {
    const key = newID();
    const id = await parked(key);
    await deployment.runs.stop(deployment.tenantID, id);

    expect((await send(key)).reached).toBe(0);
    await ends(id, { status: 'CANCELLED' });
  });

  test('shows what it waits for, and until when', async () => {
    const key = newID();
    const id = await parked(key);
    expect((await deployment.events(id)).find(({ status }) => status === 'SUSPENDED')?.payload).toEqual({
      wait: 'event',
      event: { name: 'paid', key },
      dueAt: expect.any(String),
    });
    await send(key);
    await ends(id, { status: 'COMPLETED' });
  });

  test('is told by the sweep when the sender died after it had stored the event, or had given it', async () => {
    const [stored, given] = [newID(), newID()];
    const [one, two] = await Promise.all([parked(stored), parked(given)]);
    await storeOnly(stored, 3);
    const eventID = await storeOnly(given, 0);
    const { pool, tenantID } = deployment;
    const { rowCount } = await pool.query(GIVE_EVENT, [
      tenantID,
      'paid',
      given,
      ['00000000-0000-0000-0000-000000000000'],
      eventID,
      10,
    ]);
    expect(rowCount).toBe(1);
    await pool.query(`update run_notice set created_at = now() - interval '3 seconds' where instance_id = $1`, [two]);

    await worker.sweep.once();
    for (const id of [one, two]) await ends(id, { status: 'COMPLETED', output: { data: 'stored' } });
  });

  test('that is locked when the event comes is told later', async () => {
    const key = newID();
    const id = await parked(key);
    const client = await deployment.pool.connect();
    try {
      await client.query('begin');
      await client.query('select from event_wait where instance_id = $1 for update', [id]);
      expect((await send(key, 'late')).reached).toBe(0);
    } finally {
      await client.query('rollback');
      client.release();
    }
    await deployment.pool.query(
      `update workflow_event set created_at = created_at - interval '2 seconds' where key = $1`,
      [key],
    );
    await ends(id, { status: 'COMPLETED', output: { data: 'late' } });
  });
});

test('a worker that is killed while its run waits loses neither the wait nor the event, and takes it once', async () => {
  await using separate = await startDeployment({ WORKER_SESSION_SECONDS: '2' });
  const openResponses: ServerResponse[] = [];
  await using server = await startHTTP((_request, response) => void openResponses.push(response));
  const wait = { type: 'waitForEvent', eventName: 'paid', eventKey: 'k' };
  const versionID = await separate.saveVersion(
    graph({ start: { type: 'start' }, wait, call: { type: 'http', url: server.origin }, end: result }, [
      'start>wait',
      'start>call',
      'wait:received>end',
    ]),
  );
  const { instanceID } = await separate.runs.accept(separate.newRun(versionID));
  const { pool, runs, tenantID } = separate;
  const own = createEvents({ pool, runs, rights: { may: async () => true } });
  {
    await using process = spawnNode(['workers/main.ts', 'workflow.runs'], separate.env);
    await eventually(async () => {
      expect(openResponses).toHaveLength(1);
      expect((await pool.query('select from event_wait')).rowCount).toBe(1);
    });
    await process.kill('SIGKILL');
  }
  const event = { tenantID, name: 'paid', key: 'k', data: 'kept', rememberSeconds: 0, caller: sender };
  expect((await own.send(event)).reached).toBe(1);
  await separate.startWorker();
  await eventually(() => expect(openResponses).toHaveLength(2));
  openResponses[1]?.end('{}');

  await eventually(async () =>
    expect(await separate.read(instanceID)).toMatchObject({ status: 'COMPLETED', output: { data: 'kept' } }),
  );
  const outcomes = (await separate.events(instanceID)).filter(
    ({ node_id, status }) => node_id === 'wait' && status === 'SUCCESS',
  );
  expect(outcomes).toHaveLength(1);
}, 180_000);
