import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { tenantRoute } from '#api/context/routes.ts';
import { eventLoop } from '#shared/concurrency/event-loop-scheduler.ts';
import { onEntities } from '#shared/db/query.ts';
import { eventually } from '../../../support/settle.ts';
import { type Client, type SmallApi, startSmallApi } from '../../../support/small-api.ts';

/** Requests of the busy caller wait for it in the database, each on a connection. */
const LOCK = 71_717;
const REQUESTS = 30;
/** The number of connections that a caller alone gets of five. */
const OWNED_CONNECTIONS = 4;

const reading = (name: string, path: string, sql: string) =>
  (['entities', 'pool'] as const).map((by) =>
    tenantRoute({
      name: `${name}-${by}`,
      method: 'get',
      path: `/${path}/${by}`,
      summary: 'Reads',
      description: 'Reads.',
      permission: 'workflow.read',
      response: z.object({ n: z.number() }),
      async handle({ em }, { pool }) {
        const { rows } = by === 'pool' ? await pool.query(sql) : await onEntities(em)<{ n: number }>(sql, []);
        return { n: rows[0]?.n ?? 0 };
      },
    }),
  );

const taking = tenantRoute({
  name: 'take',
  method: 'post',
  path: '/take',
  summary: 'Takes',
  description: 'Takes.',
  permission: 'workflow.read',
  idempotent: false,
  body: z.object({ list: z.array(z.object({ a: z.number() })) }),
  response: z.object({ n: z.number() }),
  async handle({ body }) {
    taken += 1;
    return { n: body.list.length };
  },
});

let taken = 0;
let api: SmallApi;
let busy: { url: string; token: string; send(path: string, body?: unknown): ReturnType<Client['send']> };
let other: typeof busy;
beforeAll(async () => {
  const slow = `select 1 as n from (select pg_advisory_lock_shared(${LOCK}), pg_advisory_unlock_shared(${LOCK})) as waited`;
  api = await startSmallApi([...reading('slow', 'slow', slow), ...reading('quick', 'quick', 'select 2 as n'), taking]);
  [busy, other] = await Promise.all([aCaller('busy@example.com'), aCaller('other@example.com')]);
});
afterAll(() => api[Symbol.asyncDispose]());

async function aCaller(email: string): Promise<typeof busy> {
  const client = await api.as(email);
  const { tenantID, path } = await api.tenant(client);
  await api.grant(tenantID, { subject: client.userID, object: '*', action: '*' });
  return {
    url: api.url + path,
    token: client.token,
    send: (at, body) => client.send(body === undefined ? 'GET' : 'POST', `${path}/${at}`, body),
  };
}

test.each(['entities', 'pool'] as const)(
  'a caller who holds connections of the %s leaves others theirs',
  async (by) => {
    await using closing = new AsyncDisposableStack();
    const lock = new pg.Client({ connectionString: api.context.config.db.url });
    await lock.connect();
    // Its end gives the lock back.
    closing.defer(() => lock.end());
    await lock.query('select pg_advisory_lock($1)', [LOCK]);
    let done = 0;
    const slow = Array.from({ length: REQUESTS }, () => busy.send(`slow/${by}`).finally(() => (done += 1)));
    await eventually(async () => {
      const { rows } = await lock.query(`select count(*)::int as n from pg_locks where objid = $1 and not granted`, [
        LOCK,
      ]);
      expect(rows[0].n).toBe(OWNED_CONNECTIONS);
    });

    for (let n = 0; n < 5; n += 1)
      expect(await other.send(`quick/${by}`)).toMatchObject({ status: 200, body: { n: 2 } });
    expect(done).toBe(0);

    await lock.query('select pg_advisory_unlock($1)', [LOCK]);
    for (const { status } of await Promise.all(slow)) expect(status).toBe(200);
  },
  30_000,
);

test('a client that goes away leaves the line for a connection, and what it asked for does not begin', async () => {
  await using closing = new AsyncDisposableStack();
  const lock = new pg.Client({ connectionString: api.context.config.db.url });
  await lock.connect();
  closing.defer(() => lock.end());
  await lock.query('select pg_advisory_lock($1)', [LOCK]);
  const before = taken;
  const { pool } = api.context;
  const headers = { authorization: `Bearer ${busy.token}`, 'content-type': 'application/json' };
  const leaving = new AbortController();
  const send = (path: string, init: RequestInit) =>
    fetch(`${busy.url}/${path}`, { ...init, headers, signal: leaving.signal }).catch(() => 'gone');
  const reads = Array.from({ length: REQUESTS }, () => send('slow/pool', {}));
  await eventually(() => expect(pool.waitingCount).toBe(REQUESTS - OWNED_CONNECTIONS));
  await lock.query('begin; lock table audit_record in share mode');
  const changes = Array.from({ length: 10 }, () => send('take', { method: 'POST', body: '{"list":[]}' }));
  // Their entries in the audit trail come before their handlers.
  await eventually(async () => {
    const { rows } = await lock.query(
      "select 1 from pg_locks where relation = 'audit_record'::regclass and not granted",
    );
    expect(rows).toHaveLength(1);
  });

  leaving.abort();
  expect(new Set(await Promise.all([...reads, ...changes]))).toEqual(new Set(['gone']));

  // The trail itself may wait, to write how they ended.
  await eventually(() => expect(pool.waitingCount).toBeLessThan(5));
  await lock.query('commit');
  await lock.query('select pg_advisory_unlock($1)', [LOCK]);
  expect(await busy.send('take', { list: [] })).toMatchObject({ status: 200 });
  expect(taken).toBe(before + 1);
});

test('each body waits for a turn of its caller at the event loop, of its size', async () => {
  using start = vi.spyOn(eventLoop, 'start');
  const body = JSON.stringify({ list: Array.from({ length: 40_000 }, () => ({ a: 1 })) });

  await Promise.all([busy.send('take', body), busy.send('take', body), other.send('take', { list: [] })]);

  const started = start.mock.calls.map(([{ creatorID }, bytes]) => ({ creatorID, bytes }));
  const [large, small] = [
    started.filter(({ bytes }) => bytes === body.length),
    started.filter(({ bytes }) => bytes === 11),
  ];
  expect([large.length, small.length]).toEqual([2, 1]);
  expect(new Set(large.map(({ creatorID }) => creatorID))).not.toContain(small[0]?.creatorID);
});
