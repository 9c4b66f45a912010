import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { tenantRoute } from '#api/http/route.ts';
import { onEntities } from '#shared/db/query.ts';
import { eventually } from '../../support/settle.ts';
import { type Client, type SmallApi, startSmallApi } from '../../support/small-api.ts';

/** Requests of the busy caller wait for it in the database, each on a connection. */
const LOCK = 71_717;
const REQUESTS = 30;
/** Of five connections, which a caller alone gets. */
const HELD = 4;

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

let api: SmallApi;
let busy: { send(path: string): ReturnType<Client['send']> };
let other: typeof busy;
beforeAll(async () => {
  const slow = `select 1 as n from (select pg_advisory_lock_shared(${LOCK}), pg_advisory_unlock_shared(${LOCK})) as waited`;
  api = await startSmallApi([...reading('slow', 'slow', slow), ...reading('quick', 'quick', 'select 2 as n')]);
  [busy, other] = await Promise.all([aCaller('busy@example.com'), aCaller('other@example.com')]);
});
afterAll(() => api[Symbol.asyncDispose]());

async function aCaller(email: string): Promise<typeof busy> {
  const client = await api.as(email);
  const { tenantID, path } = await api.tenant(client);
  await api.grant(tenantID, { subject: client.userID, object: '*', action: '*' });
  return { send: (at) => client.send('GET', `${path}/${at}`) };
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
      expect(rows[0].n).toBe(HELD);
    });

    for (let n = 0; n < 5; n += 1)
      expect(await other.send(`quick/${by}`)).toMatchObject({ status: 200, body: { n: 2 } });
    expect(done).toBe(0);

    await lock.query('select pg_advisory_unlock($1)', [LOCK]);
    for (const { status } of await Promise.all(slow)) expect(status).toBe(200);
  },
  30_000,
);
