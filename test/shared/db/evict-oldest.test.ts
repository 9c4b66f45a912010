import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { createRowEviction } from '#shared/db/evict-oldest.ts';
import {
  claimKey,
  createResponseEviction,
  EVICT_RESPONSES,
  type IdempotencyClaim,
  notYet,
  storeResponse,
} from '#shared/db/idempotency.ts';
import { onPool } from '#shared/db/query.ts';
import { createQueryCache, TRIM } from '#workers/datasources/queries/cache.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { testLogger } from '../../support/environment.ts';
import { explaining } from '../../support/explaining.ts';
import { aTenant, type TestTenant } from '../../support/factories.ts';
import { eventually } from '../../support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const warn = () => expect.unreachable();

test('a cache of queries keeps of each tenant what fits, and drops what would be shown for the shortest time', async () => {
  const { pool, secrets } = cluster.context;
  const result = (text: string) => ({ rows: [{ text }], rowCount: 1 }) as never;
  // A sealed answer of 30,000 characters takes 40,000.
  const cache = createQueryCache({ pool, secrets, logger: testLogger }, { maxBytes: 100_000, maxRows: 50 });
  const other = newID();
  await cache.write('other', other, result('x'), 10);
  for (const [key, seconds] of [
    ['long', 900],
    ['short', 100],
    ['middle', 500],
    ['last', 600],
  ] as const)
    await cache.write(key, tenant.id, result('x'.repeat(30_000)), seconds);

  const keys = async () =>
    (await pool.query<{ key: string }>('select key from query_cache where tenant_id = $1', [tenant.id])).rows.map(
      ({ key }) => key,
    );
  expect((await keys()).sort()).toEqual(['last', 'long']);
  expect(await cache.read('long')).toEqual(result('x'.repeat(30_000)));
  expect(await cache.read('other')).toEqual(result('x'));

  for (let n = 0; n < 70; n += 1) await cache.write(`small ${n}`, tenant.id, result('x'), 1_000);
  expect((await keys()).length).toBeLessThanOrEqual(50 + 50 / 16 + 1);
});

test('answers that a tenant has too much of are dropped, oldest first; their keys stay', async () => {
  const { pool } = cluster.context;
  const eviction = createResponseEviction(pool, warn, { maxBytes: 10_000, maxRows: 100 });
  const claims = await Promise.all(['a', 'b', 'c'].map((key) => aStoredAnswer(key, 4_000)));
  await pool.query(
    `update idempotency set expires_at = expires_at - interval '1 hour' where key = 'b' and tenant_id = $1`,
    [tenant.id],
  );
  await eviction.wrote(tenant.id, 4_000);

  const [a, b, c] = await Promise.allSettled(claims.map((claim) => claimKey(onPool(pool), tenant.id, claim, notYet)));
  expect(b).toMatchObject({
    status: 'rejected',
    reason: { code: 'CONFLICT', message: expect.stringContaining('its answer was not kept') },
  });
  for (const remaining of [a, c])
    expect(remaining).toMatchObject({
      status: 'fulfilled',
      value: { status: 201, response: { text: expect.any(String) } },
    });
});

test('a request with a key counts its answer, and its repetition is told that the answer was dropped', async () => {
  const { pool } = cluster.context;
  const api = cluster.as(tenant.creator).in(tenant);
  const create = (key: string) => api.post('T/workflows', { title: key, draft: true }, { 'idempotency-key': key });
  // Answers of together 500 MB, as their sizes say.
  const claims = await Promise.all(Array.from({ length: 5 }, (_, n) => aStoredAnswer(`old ${n}`, 10)));
  await pool.query(
    `update idempotency set kept_bytes = 100 * 1024 ^ 2, expires_at = expires_at - interval '1 hour' where tenant_id = $1 and key like 'old %'`,
    [tenant.id],
  );

  expect((await create('new')).status).toBe(201);

  await eventually(async () => {
    const { rows } = await pool.query(
      `select 1 from idempotency where tenant_id = $1 and status = 413 and key like 'old %'`,
      [tenant.id],
    );
    expect(rows).toHaveLength(3);
  });
  expect((await create('new')).status).toBe(201);
  await createResponseEviction(pool, warn, { maxBytes: 0, maxRows: 0 }).wrote(tenant.id, 1);
  expect(await create('new')).toMatchObject({
    status: 409,
    body: { error: { message: expect.stringContaining('its answer was not kept') } },
  });
  expect(claims).toHaveLength(5);
});

test('a process looks at its first write of a tenant and after a sixteenth, and again after a failure', async () => {
  const looks: string[] = [];
  let fails = true;
  const pool = {
    query: async (_statement: string, [id]: string[]) => {
      looks.push(String(id));
      if (fails) throw new Error('away');
    },
  };
  const warnings: unknown[] = [];
  // Safe: an eviction uses nothing else of a pool.
  const eviction = createRowEviction({
    pool: pool as never,
    statement: '',
    maxBytes: 1_600,
    maxRows: 160,
    warn: (error) => void warnings.push(error),
  });
  await eviction.wrote('a', 1);
  fails = false;
  await eviction.wrote('a', 1);
  for (let n = 0; n < 9; n += 1) await eviction.wrote('a', 1);
  expect([looks.length, warnings.length]).toEqual([2, 1]);
  await eviction.wrote('a', 1);
  expect(looks).toHaveLength(3);
  await eviction.wrote('a', 100);
  await eviction.wrote('b', 1);
  expect(looks).toEqual(['a', 'a', 'a', 'a', 'b']);
});

test('both read the rows of one tenant, beside an empty table and a filled one', async () => {
  const rowsRead = new Map<string, number>();
  const pool = explaining(cluster.pool, rowsRead);
  const countRows = async () => {
    for (const statement of [TRIM, EVICT_RESPONSES]) await pool.query(statement, [newID(), 1_000, 10]);
  };
  await countRows();
  await cluster.pool.query(
    `insert into query_cache select 'k' || n, gen_random_uuid(), 'x', now() + interval '1 hour' from generate_series(1, 5000) n`,
  );
  await cluster.pool.query(
    `insert into idempotency (tenant_id, principal, route, key, request_hash, status, response, expires_at, kept_bytes)
     select gen_random_uuid(), gen_random_uuid(), 'r', 'k', 'h', 200, '{}', now() + interval '1 hour', 10 from generate_series(1, 5000)`,
  );
  await cluster.pool.query('analyze query_cache, idempotency');
  await countRows();

  expect(rowsRead.size).toBe(2);
  expect(Math.max(...rowsRead.values())).toBeLessThan(100);
});

async function aStoredAnswer(key: string, size: number): Promise<IdempotencyClaim> {
  const claim = {
    principal: tenant.creator.id,
    route: 'post /x',
    key,
    requestHash: 'h',
    onReplay: () => undefined,
    onStored: () => undefined,
    pause: async () => undefined,
  };
  const query = onPool(cluster.context.pool);
  expect(await claimKey(query, tenant.id, claim, notYet)).toBe('claimed');
  await storeResponse(query, tenant.id, claim, { status: 201, response: { text: 'x'.repeat(size) } });
  return claim;
}
