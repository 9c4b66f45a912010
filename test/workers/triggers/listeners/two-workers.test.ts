import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { aListener, aTenant, type TestTenant } from '#test/support/factories.ts';
import { eventually } from '#test/support/settle.ts';

const KEYS = 8;
const OF_A_KEY = 25;
const FLOOD = 2_000;
const OF_THE_OTHER = 10;

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
  for (let n = 0; n < 2; n += 1) await cluster.startWorker({}, ['listener.events']);
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

/** Events that have come, of which each processes into a buffer. */
async function anOrderedListener(tenant: TestTenant) {
  const actions = [{ actionType: 'save_to_buffer', actionConfig: { maxEvents: 1_000 } }];
  return aListener(cluster, { tenant, config: { orderBy: '{{event.body.key}}' }, actions });
}

async function deliver(listener: { id: string }, body: unknown): Promise<void> {
  const response = await fetch(`${cluster.baseURL}/webhooks/v1/inbound/${listener.id}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  await response.bytes();
  expect(response.status).toBe(200);
}

test('over two workers the events of a key are processed in the order of their receipt', async () => {
  const tenant = await aTenant(cluster);
  const listener = await anOrderedListener(tenant);
  // The next one of a key is sent when the one before is answered; the keys at once.
  await Promise.all(
    Array.from({ length: KEYS }, async (_, key) => {
      for (let n = 0; n < OF_A_KEY; n += 1) await deliver(listener, { key: `k${key}`, n });
    }),
  );
  const processed = async () => {
    const { rows } = await cluster.pool.query<{ key: string; n: number }>(
      `select event_data -> 'body' ->> 'key' as key, (event_data -> 'body' ->> 'n')::int as n
       from listener_buffer where listener_id = $1 order by seq_no`,
      [listener.id],
    );
    return rows;
  };
  await eventually(async () => expect(await processed()).toHaveLength(KEYS * OF_A_KEY));

  const rows = await processed();
  for (let key = 0; key < KEYS; key += 1)
    expect(rows.filter((row) => row.key === `k${key}`).map(({ n }) => n)).toEqual(
      Array.from({ length: OF_A_KEY }, (_, n) => n),
    );
});

test('over two workers a tenant with few events passes one with thousands', async () => {
  const { pool } = cluster;
  const [flooded, other] = [await aTenant(cluster), await aTenant(cluster)];
  const [target, beside] = [await anOrderedListener(flooded), await anOrderedListener(other)];
  await pool.query(
    `insert into listener_event (id, tenant_id, listener_id, source, body, headers)
     select gen_random_uuid(), $1, $2, 'webhook', '{}', '[["content-type", "application/json"]]' from generate_series(1, $3)`,
    [flooded.id, target.id, FLOOD],
  );
  const done = async (listener: { id: string }) => {
    const { rows } = await pool.query<{ n: number }>(
      `select count(*)::int as n from listener_event where listener_id = $1 and state = 'done'`,
      [listener.id],
    );
    return rows[0]?.n ?? 0;
  };
  await eventually(async () => expect(await done(target)).toBeGreaterThan(0));
  await Promise.all(Array.from({ length: OF_THE_OTHER }, (_, n) => deliver(beside, { key: `k${n}`, n })));
  await eventually(async () => expect(await done(beside)).toBe(OF_THE_OTHER));

  // The test compares what happened meanwhile, not the time that it took.
  const { rows } = await pool.query<{ passed: number }>(
    `select count(*)::int as passed from listener_event e, (
       select min(received_at) as first, max(finished_at) as last from listener_event where listener_id = $2) o
     where e.listener_id = $1 and e.finished_at between o.first and o.last`,
    [target.id, beside.id],
  );
  expect(rows[0]?.passed).toBeLessThan(FLOOD / 2);
});
