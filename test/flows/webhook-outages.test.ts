import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { JsonObject } from '#shared/core/json.ts';
import { redisURL } from '#test/support/backplane.ts';
import { startCluster } from '#test/support/cluster.ts';
import { aListener, aTenant, aWorkflow } from '#test/support/factories.ts';
import { spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';
import { dispatchLost } from '#workers/triggers/listeners/dispatch-events.ts';
import { startRedis } from '../servers/redis.ts';

const BURST = 200;
const KEYS = 4;

test('a burst loses, doubles and reorders nothing while its worker is killed, and its Redis', async () => {
  await using resources = new AsyncDisposableStack();
  const dir = resources.adopt(await mkdtemp(join(tmpdir(), 'gantry-webhooks-')), (path) =>
    rm(path, { recursive: true, force: true }),
  );
  const redis = redisURL ? resources.use(await startRedis({ dir })) : undefined;
  const settings = { WORKER_SESSION_SECONDS: '2', ...(redis && { REDIS_URL: redis.url }) };
  const cluster = resources.use(await startCluster({ workers: false, settings }));
  const {
    pool,
    messaging: { producer },
  } = cluster.context;
  const [tenant, neighbour] = [await aTenant(cluster), await aTenant(cluster)];
  const listeners = await Promise.all(
    [tenant, neighbour].map(async (own) => {
      const { id: workflowID } = await aWorkflow(cluster, { tenant: own });
      const actions: { actionType: string; actionConfig: JsonObject }[] = [
        { actionType: 'save_to_buffer', actionConfig: {} },
        { actionType: 'trigger_workflow', actionConfig: { workflowID } },
        { actionType: 'send_event', actionConfig: { eventName: 'arrived', eventKey: 'k' } },
      ];
      return aListener(cluster, { tenant: own, actions });
    }),
  );
  const ordered = await aListener(cluster, {
    tenant,
    config: { orderBy: '{{event.body.key}}' },
    actions: [{ actionType: 'save_to_buffer', actionConfig: { bufferName: 'ordered' } }],
  });
  const first = resources.use(spawnNode(['workers/main.ts', 'listener.events'], cluster.env));
  const done = async () => {
    const { rows } = await pool.query<{ n: number }>(
      `select count(*)::int as n from listener_event where state = 'done'`,
    );
    return rows[0]?.n ?? 0;
  };
  const deliver = async (listener: { id: string } | undefined, body: unknown) => {
    const response = await fetch(`${cluster.baseURL}/webhooks/v1/inbound/${listener?.id}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    await response.bytes();
    return response.status;
  };

  const sent: Promise<number>[] = [];
  /** The delivery of each key that was sent last: the next is sent after its response. */
  const lines = new Map<number, Promise<number>>();
  for (let n = 0; n < BURST; n += 1) {
    sent.push(deliver(listeners[0], n));
    if (n % 4 === 0) {
      const key = (n / 4) % KEYS;
      const next = (lines.get(key) ?? Promise.resolve(200)).then(() => deliver(ordered, { key, n }));
      lines.set(key, next);
      sent.push(next);
    }
    if (n % 20 === 0) sent.push(deliver(listeners[1], n));
    if (n === BURST / 4) await eventually(async () => expect(await done()).toBeGreaterThan(0));
    if (n === BURST / 2) await Promise.all([first.kill('SIGKILL'), redis?.kill9()]);
    if (n % 10 === 0) await sent.at(-1);
  }
  expect(new Set(await Promise.all(sent))).toEqual(new Set([200]));
  expect(await done()).toBeLessThan(sent.length);
  await redis?.restart();
  await cluster.startWorker({}, ['listener.events']);
  await eventually(async () => {
    // Every worker does this, though not as often.
    await dispatchLost({ pool, producer }, 1).catch(() => undefined);
    expect(await done()).toBe(sent.length);
  });

  const { rows } = await pool.query<{ events: number; runs: number; saved: number; sent: number; matching: number }>(`
    select count(*)::int as events, (select count(*)::int from workflow_instance) as runs,
      (select count(*)::int from listener_buffer where listener_id <> '${ordered.id}') as saved, (select count(*)::int from workflow_event) as sent, count(i.id)::int as matching
    from listener_event e left join workflow_instance i on i.id = e.instance_id and i.tenant_id = e.tenant_id
    where e.listener_id <> '${ordered.id}'`);
  const all = sent.length - BURST / 4;
  expect(rows).toEqual([{ events: all, runs: all, saved: all, sent: all, matching: all }]);
  // In the order in which they were processed.
  const processed = await pool.query<{ key: number; n: number }>(`
    select (event_data -> 'body' ->> 'key')::int as key, (event_data -> 'body' ->> 'n')::int as n from listener_buffer
    where listener_id = '${ordered.id}' order by seq_no`);
  const wanted = Array.from({ length: BURST / 4 }, (_, at) => ({ key: at % KEYS, n: at * 4 }));
  for (let key = 0; key < KEYS; key += 1)
    expect(processed.rows.filter((row) => row.key === key)).toEqual(wanted.filter((row) => row.key === key));
});
