import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { createKeyRing } from '#shared/core/key-ring.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Producer } from '#shared/messaging/producer.ts';
import {
  CLOSE_BREAKERS,
  FORGET_PROBES,
  LISTENERS_TO_RELEASE,
  LOCK_BREAKERS,
  NOTE_FAILURES,
  RELEASE_EVENTS,
  START_PROBES,
  STOP_LISTENERS,
} from '#shared/triggers/listeners/breakers.ts';
import {
  CLAIM_AGAIN,
  COUNT_DEAD,
  COUNT_EVENTS,
  LOCK_DEAD,
  NEWEST_DEAD,
  PURGE,
  REDRIVE,
  REPLACE,
  REPLAY,
} from '#shared/triggers/listeners/dead-letters.ts';
import { DISPATCHED, KEYS_WITH_DEFERRED, RELEASE_NEXT, WAITING } from '#shared/triggers/listeners/deferred-events.ts';
import { createEventRecorder, type NewEvent } from '#shared/triggers/listeners/event-recorder.ts';
import {
  DISPATCH_EVENTS,
  DISPATCHED_LONG_AGO,
  END_ATTEMPTS,
  FORGET_DEDUP,
  LOCK_EVENTS,
  NOTE_ACTION,
  READ_EVENTS,
  SAVE_TO_BUFFERS,
  TRIM_BUFFER,
  tenantsWith,
} from '#shared/triggers/listeners/event-rows.ts';
import { createListenerReader } from '#shared/triggers/listeners/listener-reader.ts';
import { releaseNextOf } from '#shared/triggers/listeners/release-next.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { testLogger } from '#test/support/environment.ts';
import { explaining } from '#test/support/explaining.ts';
import { eventually } from '#test/support/settle.ts';
import { dispatchLost, dispatchWaiting } from '#workers/triggers/listeners/dispatch-events.ts';
import { releaseFirstOfKeys } from '#workers/triggers/listeners/release-deferred.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment();
});
afterAll(() => deployment[Symbol.asyncDispose]());

/** A queue that keeps the ids of events, and those of jobs that go before others; it may be away. */
function aQueue() {
  const queue = { isAway: false, added: [] as string[], first: [] as string[] };
  const producer: Producer = {
    async enqueue(_definition, payloads, { priority } = {}) {
      if (queue.isAway) throw new Error('away');
      const ids = payloads.map((payload) => String(Reflect.get(payload as object, 'eventID')));
      queue.added.push(...ids);
      if (priority === 1) queue.first.push(...ids);
    },
  };
  return Object.assign(queue, { producer });
}

function recorderOf(
  producer: Producer,
  { pool = deployment.pool, maxConcurrent = 2 }: { pool?: Pool; maxConcurrent?: number } = {},
) {
  return createEventRecorder({ pool, producer, logger: testLogger, maxConcurrent });
}

function anEvent(more: Partial<NewEvent> = {}): NewEvent {
  const body = Buffer.from('{}');
  return {
    id: newID(),
    tenantID: newID(),
    listenerID: newID(),
    source: 'webhook',
    body,
    headers: [],
    params: {},
    ...more,
  };
}

async function countOf(condition: string, tenantID: string): Promise<number> {
  const { rows } = await deployment.pool.query<{ n: number }>(
    `select count(*)::int as n from listener_event where tenant_id = $1 and ${condition}`,
    [tenantID],
  );
  return rows[0]?.n ?? 0;
}

test('an event that the database refuses fails alone', async () => {
  const queue = aQueue();
  await using recorder = recorderOf(queue.producer);
  const events = Array.from({ length: 9 }, (_, n) => anEvent({ body: Buffer.from(`body ${n}\0`), path: `/a\0${n}` }));
  const bad = anEvent({ source: 'x'.repeat(33) });

  const settled = await Promise.allSettled(
    [...events.slice(0, 4), bad, ...events.slice(4)].map((event) => recorder.record(event)),
  );

  expect(settled.map(({ status }) => status)).toEqual(
    Array.from({ length: 10 }, (_, at) => (at === 4 ? 'rejected' : 'fulfilled')),
  );
  const { rows } = await deployment.pool.query<{ id: string; body: Buffer }>(
    'select id, body from listener_event where id = any($1::uuid[]) order by id',
    [events.map(({ id }) => id)],
  );
  // Each has its own bytes, although all were sent in one piece.
  expect(rows.map(({ id, body }) => [id, body.toString()])).toEqual(
    events.map(({ id, body }) => [id, body.toString()]),
  );
});

test('a tenant with few events does not wait behind one with many', async () => {
  await using recorder = recorderOf(aQueue().producer, { maxConcurrent: 1 });
  const tenantID = newID();
  let recorded = 0;
  const many = Array.from({ length: 1_600 }, () => recorder.record(anEvent({ tenantID })).then(() => (recorded += 1)));

  await recorder.record(anEvent());

  expect(recorded).toBeLessThanOrEqual(500);
  await Promise.all(many);
});

test('a delivery is recorded while the queue is away, and gets its job later', async () => {
  const queue = aQueue();
  queue.isAway = true;
  const tenantID = newID();
  await using recorder = recorderOf(queue.producer);
  const events = Array.from({ length: 20 }, () => anEvent({ tenantID }));
  await Promise.all(events.map((event) => recorder.record(event)));

  queue.isAway = false;
  await dispatchLost({ pool: deployment.pool, producer: queue.producer }, 0);

  expect(queue.added.filter((id) => events.some((event) => event.id === id)).sort()).toEqual(
    events.map(({ id }) => id).sort(),
  );
});

test('a tenant has a bounded number of jobs, and the others follow in their order as events are finished', async () => {
  const queue = aQueue();
  const { pool } = deployment;
  const needs = { pool, producer: queue.producer };
  const tenantID = newID();
  await using recorder = recorderOf(queue.producer, { maxConcurrent: 1 });
  const events = Array.from({ length: 620 }, () => anEvent({ tenantID }));
  await Promise.all(events.map((event) => recorder.record(event)));
  const jobs = () => queue.added.filter((id) => events.some((event) => event.id === id));
  expect([await countOf(DISPATCHED, tenantID), await countOf(WAITING, tenantID)]).toEqual([500, 120]);

  await dispatchWaiting(needs);
  expect(jobs()).toHaveLength(500);
  // One that comes later does not overtake those that wait.
  const late = anEvent({ tenantID });
  await pool.query(
    `update listener_event set state = 'done', finished_at = now(), expires_at = now() where id = any($1::uuid[])`,
    [events.slice(0, 50).map(({ id }) => id)],
  );
  await recorder.record(late);
  expect(queue.added).not.toContain(late.id);
  await dispatchWaiting(needs);
  expect(jobs()).toEqual(events.slice(0, 550).map(({ id }) => id));
});

/** The next of a queue's jobs has ended, as a worker ends it. */
async function end(ids: readonly string[], ended: { state: 'done' } | { state: 'pending' }): Promise<void> {
  const rows = ids.map((id) => ({ id, failed: 1, wait_s: 0, kept_s: ended.state === 'done' ? 1 : null, ...ended }));
  await deployment.pool.query(END_ATTEMPTS, [JSON.stringify(rows)]);
}

test('the jobs of a tenant with many go behind those of others, however its events come', async () => {
  const queue = aQueue();
  const { producer } = queue;
  await using recorder = recorderOf(producer);
  const tenantID = newID();
  const firstOf = (...events: NewEvent[]) => queue.first.filter((id) => events.some((event) => event.id === id)).length;
  const record = async (more: Partial<NewEvent>, count: number) => {
    const events = Array.from({ length: count }, () => anEvent(more));
    for (const event of events) await recorder.record(event);
    await eventually(async () => expect(queue.added).toEqual(expect.arrayContaining(events.map(({ id }) => id))));
    return events;
  };
  const body = Buffer.alloc(70_000, ' ');

  expect(firstOf(...(await record({ tenantID, body }, 10)))).toBe(4);
  const small = await record({ tenantID }, 50);
  expect(firstOf(...small)).toBe(40);
  expect(firstOf(...(await record({ tenantID, orderKey: 'a' }, 1)))).toBe(0);
  expect(firstOf(...(await record({}, 1)), ...(await record({ orderKey: 'a' }, 1)))).toBe(2);

  const ids = small.map(({ id }) => id);
  await deployment.pool.query('update listener_event set dispatched_at = null where id = any($1::uuid[])', [ids]);
  queue.first = [];
  await dispatchWaiting({ pool: deployment.pool, producer });
  // Eleven other events of the tenant have jobs.
  expect(firstOf(...small)).toBe(39);
});

test('events of a key have jobs one after the other, in the order of their receipt', async () => {
  const queue = aQueue();
  const { pool } = deployment;
  const needs = { pool, producer: queue.producer };
  const [tenantID, listenerID] = [newID(), newID()];
  await using one = recorderOf(queue.producer);
  await using other = recorderOf(queue.producer);
  const of = (orderKey: string) => anEvent({ tenantID, listenerID, orderKey });
  const record = async (...events: NewEvent[]) => {
    for (const event of events) await one.record(event);
  };
  const added = async (...events: NewEvent[]) => {
    await eventually(() => expect(queue.added).toEqual(events.map(({ id }) => id)));
    queue.added.length = 0;
  };
  const free = () => releaseNextOf(needs, [{ listenerID, orderKey: 'a' }]);
  const [first, second, third, fourth, stuck] = [of('a'), of('a'), of('a'), of('a'), of('b')];

  await record(first);
  await added(first);
  // Two processes, whose clocks are not the same.
  second.id = newID().replace(/^..../, 'ffff');
  await other.record(second);
  await record(third, stuck);
  await added(stuck);
  await dispatchWaiting(needs);
  // An event whose attempt has failed stays first of its key.
  await end([first.id], { state: 'pending' });
  expect(await free()).toBe(0);
  await dispatchWaiting(needs);
  await added(first);

  // The process dies before it frees the next.
  await end([first.id], { state: 'done' });
  await releaseFirstOfKeys(needs);
  await added(second);
  await end([second.id], { state: 'done' });
  expect(await Promise.all([free(), free(), releaseFirstOfKeys(needs)]).then(([x, y]) => x + y)).toBeLessThanOrEqual(1);
  await added(third);

  // A dead letter that is processed again is the last of its key.
  await pool.query(`update listener_event set state = 'dead' where id = $1`, [first.id]);
  await record(fourth);
  await pool.query(REDRIVE, [JSON.stringify([{ id: first.id, duplicate_of: null }]), null]);
  await dispatchWaiting(needs);
  expect(queue.added).toEqual([]);
  for (const [ended, next] of [
    [third, fourth],
    [fourth, first],
  ] as const) {
    await end([ended.id], { state: 'done' });
    await free();
    await added(next);
  }
  expect(await countOf(DISPATCHED, tenantID)).toBe(2);
  // One that is recorded where this is not visible yet cannot overtake: the database gives a key one job.
  const late = of('a');
  await record(late);
  const dispatched = pool.query(`update listener_event set dispatched_at = now() where id = $1`, [late.id]);
  await expect(dispatched).rejects.toThrow('listener_event_turn');
});

/** A pool that blocks its first statements until each is released. */
function aBlockedPool(blocked: number) {
  const blocks = Array.from({ length: blocked }, () => Promise.withResolvers<void>());
  const state = { statements: 0, release: (nth: number) => blocks[nth]?.resolve() };
  const pool = new Proxy(deployment.pool, {
    get(target, key) {
      if (key !== 'query') return Reflect.get(target, key, target);
      return async (statement: string) => {
        const nth = state.statements;
        state.statements += 1;
        await blocks[nth]?.promise;
        return target.query(statement);
      };
    },
  });
  return Object.assign(state, { pool });
}

test('an event waits while an earlier one of its key is recorded, and others do not', async () => {
  const { pool } = deployment;
  const slow = aBlockedPool(1);
  await using recorder = recorderOf(aQueue().producer, { pool: slow.pool });
  const [tenantID, listenerID] = [newID(), newID()];
  const events = Array.from({ length: 620 }, (_, n) => anEvent({ tenantID, listenerID, orderKey: `k${n % 3}` }));
  const all = Promise.all(events.map((event) => recorder.record(event)));
  await eventually(() => expect(slow.statements).toBe(1));
  await recorder.record(anEvent());
  slow.release(0);
  await all;

  const { rows } = await pool.query<{ id: string; key: string }>(
    'select id, order_key as key from listener_event where tenant_id = $1 order by order_seq',
    [tenantID],
  );
  for (const key of ['k0', 'k1', 'k2'])
    expect(rows.filter((row) => row.key === key).map(({ id }) => id)).toEqual(
      events.filter(({ orderKey }) => orderKey === key).map(({ id }) => id),
    );
});

test('a tenant does not wait for statements that another has filled', async () => {
  const slow = aBlockedPool(2);
  await using recorder = recorderOf(aQueue().producer, { pool: slow.pool });
  const tenantID = newID();
  const many = Array.from({ length: 1_200 }, () => recorder.record(anEvent({ tenantID })));
  await eventually(() => expect(slow.statements).toBe(2));

  await Promise.all([recorder.record(anEvent()), recorder.record(anEvent())]);
  await recorder.record(anEvent());

  // Those of the tenant with statements under way stayed where they were.
  expect(slow.statements).toBe(4);
  expect(await countOf('true', tenantID)).toBe(0);
  slow.release(0);
  slow.release(1);
  await Promise.all(many);
  expect(await countOf('true', tenantID)).toBe(1_200);
});

test('with one concurrent statement the events of a tenant are recorded in their order, also those beside it', async () => {
  // The first statement is the concurrent one, and the second is beside it.
  const slow = aBlockedPool(2);
  await using recorder = recorderOf(aQueue().producer, { pool: slow.pool, maxConcurrent: 1 });
  const tenantID = newID();
  const order: number[] = [];
  const record = (n: number) => recorder.record(anEvent({ tenantID })).then(() => order.push(n));
  const filling = recorder.record(anEvent());
  await eventually(() => expect(slow.statements).toBe(1));
  const first = record(0);
  await eventually(() => expect(slow.statements).toBe(2));
  const later = [1, 2, 3].map(record);
  const others = Array.from({ length: 60 }, () => recorder.record(anEvent()));
  await new Promise((resolve) => setImmediate(resolve));
  expect([slow.statements, order]).toEqual([2, []]);

  slow.release(0);
  await Promise.all([filling, ...others]);
  expect(order).toEqual([]);
  slow.release(1);
  await Promise.all([first, ...later]);

  expect(order).toEqual([0, 1, 2, 3]);
});

test('counts of events and bytes reach the listener and the quota', async () => {
  const { pool } = deployment;
  const [tenantID, datasourceID, listenerID] = [newID(), newID(), newID()];
  await pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, 'A', $1)`, [tenantID]);
  await pool.query(
    `insert into datasource (id, tenant_id, datasource_title, datasource_type, datasource_options, creator_id)
     values ($1, $2, 'A', 'webhook', '{}', $2)`,
    [datasourceID, tenantID],
  );
  await pool.query(
    `insert into listener (id, tenant_id, listener_title, listener_type, datasource_id, creator_id) values ($1, $2, 'A', 'webhook', $3, $2)`,
    [listenerID, tenantID, datasourceID],
  );
  for (let round = 0; round < 2; round += 1) {
    await using recorder = recorderOf(aQueue().producer);
    await Promise.all([1, 2, 3].map(() => recorder.record(anEvent({ tenantID, listenerID, body: Buffer.alloc(10) }))));
  }

  const { rows: usage } = await pool.query('select events, bytes from listener_usage where tenant_id = $1', [tenantID]);
  expect(usage).toEqual([{ events: 6, bytes: 60 }]);
  const { rows } = await pool.query('select event_count, last_event_at from listener where id = $1', [listenerID]);
  expect(rows).toMatchObject([{ event_count: 6, last_event_at: expect.any(Date) }]);
});

test('no statement reads more of the tables when they are full', async () => {
  const { pool } = deployment;
  const [tenantID, datasourceID, listenerID] = [newID(), newID(), newID()];
  const dedup = { key: 'k', bodyHash: '00', windowSeconds: 60 };
  const event = () => anEvent({ tenantID, listenerID, dedup: { ...dedup, key: newID() } });
  const secrets = createKeyRing(deployment.config.secrets.keys);

  async function readRows(): Promise<Map<string, number>> {
    const read = new Map<string, number>();
    const explained = explaining(pool, read);
    const recorder = recorderOf(aQueue().producer, { pool: explained });
    const { eventID } = await recorder.record(event());
    await recorder[Symbol.asyncDispose]();
    const reader = createListenerReader({ pool: explained, secrets });
    await reader.byID(listenerID);
    await reader.byPath(tenantID, ['a'], 'POST');
    await explained.query(READ_EVENTS, [[eventID]]);
    await explained.query(LOCK_EVENTS, [[eventID]]);
    await explained.query(END_ATTEMPTS, [JSON.stringify([{ id: eventID, state: 'pending', failed: 1, wait_s: 0 }])]);
    await explained.query(FORGET_DEDUP, [[eventID]]);
    await explained.query(tenantsWith(WAITING, 'ready_at'), ['00000000-0000-0000-0000-000000000000', 5, 0]);
    await explained.query(tenantsWith(DISPATCHED, 'dispatched_at'), ['00000000-0000-0000-0000-000000000000', 5, 10]);
    await explained.query(DISPATCH_EVENTS, [tenantID]);
    await explained.query(RELEASE_NEXT, [[listenerID], ['k']]);
    await explained.query(LOCK_BREAKERS, [[listenerID]]);
    const failures = { listener_id: listenerID, tenant_id: tenantID, failures: 10, error: null, probe_id: null };
    await explained.query(NOTE_FAILURES, [JSON.stringify([failures])]);
    await explained.query(START_PROBES, []);
    await explained.query(FORGET_PROBES, [[eventID]]);
    await explained.query(CLOSE_BREAKERS, [[listenerID]]);
    await explained.query(LISTENERS_TO_RELEASE, []);
    await explained.query(RELEASE_EVENTS, ['target', listenerID]);
    await explained.query(STOP_LISTENERS, [JSON.stringify([{ listener_id: newID(), error: '' }])]);
    await explained.query(KEYS_WITH_DEFERRED, [newID(), '', 10]);
    await explained.query(DISPATCHED_LONG_AGO, [tenantID, 3_600]);
    await explained.query(NOTE_ACTION, [eventID, newID(), '{}']);
    const saved = { n: 0, id: newID(), tenant_id: tenantID, listener_id: listenerID, event_id: eventID, bytes: 2 };
    const rows = [{ ...saved, buffer_name: 'a', event_data: {}, event_meta: {}, received_at: new Date() }];
    await explained.query(SAVE_TO_BUFFERS, [JSON.stringify(rows)]);
    await explained.query(TRIM_BUFFER, [listenerID, 'a', 10, 1_000]);
    await explained.query(LOCK_DEAD, [tenantID, listenerID, null, null, null, null]);
    await explained.query(CLAIM_AGAIN, [tenantID, listenerID, JSON.stringify([{ key: 'new', id: newID() }]), 60]);
    await explained.query(REDRIVE, [JSON.stringify([{ id: eventID, duplicate_of: null }]), 10]);
    await explained.query(PURGE, [tenantID, listenerID, null, 'NOT_FOUND', null, null]);
    await explained.query(REPLAY, [eventID, newID(), tenantID, listenerID]);
    await explained.query(REPLACE, [eventID, newID(), tenantID, listenerID, null, null]);
    await explained.query(NEWEST_DEAD, [200]);
    await explained.query(COUNT_DEAD, []);
    const now = newID();
    await explained.query(COUNT_EVENTS, [tenantID, listenerID, now, now]);
    return read;
  }

  await pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, 'A', $1)`, [tenantID]);
  await pool.query(
    `insert into datasource (id, tenant_id, datasource_title, datasource_type, datasource_options, creator_id)
     values ($1, $2, 'A', 'webhook', '{}', $2)`,
    [datasourceID, tenantID],
  );
  await pool.query(
    `insert into listener (id, tenant_id, listener_title, listener_type, datasource_id, creator_id, status, endpoint_path, endpoint_shape)
     values ($1, $2, 'A', 'webhook', $3, $2, 'active', 'a', 'a')`,
    [listenerID, tenantID, datasourceID],
  );
  await pool.query('delete from listener_event');
  const before = await readRows();
  await pool.query(
    `insert into listener_event (id, tenant_id, listener_id, source, state, dispatched_at, finished_at, expires_at)
     select gen_random_uuid(), ten.id, $1, 'webhook', case when n % 4 > 1 then 'done' else 'pending' end,
       case when n % 4 = 1 then now() end, case when n % 4 > 1 then now() end, case when n % 4 > 1 then now() end
     from generate_series(1, 4000) n, (select gen_random_uuid() as id union all select $2::uuid) ten
     where ten.id <> $2 or n % 4 > 1`,
    [listenerID, tenantID],
  );
  await pool.query(
    `insert into listener_dedup (listener_id, key, tenant_id, event_id, body_hash, expires_at)
     select $1, n::text, $2, gen_random_uuid(), '', now() from generate_series(1, 5000) n`,
    [listenerID, tenantID],
  );
  await pool.query(
    `insert into listener_buffer (id, tenant_id, listener_id, event_id, buffer_name, event_data, bytes, received_at)
     select gen_random_uuid(), $2, $1, gen_random_uuid(), 'b' || n % 2, '{}', 2, now() from generate_series(1, 2000) n`,
    [listenerID, tenantID],
  );
  const after = await readRows();

  expect(before.size).toBeGreaterThanOrEqual(32);
  for (const [statement, rows] of after) expect(rows, statement).toBeLessThanOrEqual((before.get(statement) ?? 0) + 20);
});
