import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from '#shared/db/pool.ts';
import { startApi } from './api-process.ts';
import { startClients } from './clients.ts';
import { percentile } from './environment.ts';
import { aNoopWorkflow, anotherTenant, aWebhook } from './listener.ts';
import type { Row } from './row.ts';

const DELIVERIES = Number(process.env.BENCH_DELIVERIES ?? 10_000);
const CLIENTS = 500;
/** Of the other tenant, one a second, alone and from the burst on. */
const ALONE = 20;
/** Redis is killed when so many deliveries are recorded, and is away for so long. */
const KILL_AT = 0.4;
const AWAY_MS = 2_000;
const PATIENCE_MS = 180_000;
const BODY = JSON.stringify({ id: 'evt_1', note: 'x'.repeat(700) });

/**
 * 10,000 webhooks at once to one tenant, of which each starts a run; Redis is killed in the middle. Another tenant sends one a second.
 * `value`: the p99 of its answers from the burst until all runs have ended; the floor is its p99 alone. Nothing may be lost or doubled.
 */
export const burst: Row = async (environment) => {
  const { pool, tenantID, redis } = environment;
  await environment.startWorker();
  await using api = await startApi(environment);
  const other = await anotherTenant(pool);
  const [target, beside] = await Promise.all(
    [tenantID, other].map(async (owner) =>
      aWebhook({ pool, tenantID: owner }, { workflowID: await aNoopWorkflow(pool, owner), config: {} }),
    ),
  );
  const urlOf = (listenerID: string | undefined) => `${api.url}/webhooks/v1/inbound/${listenerID}`;
  await using clients = startClients();
  const load = (count: number) =>
    clients.load({
      url: urlOf(target),
      headers: {},
      clients: CLIENTS,
      seconds: PATIENCE_MS / 1_000,
      count,
      body: BODY,
      answer: '"eventID"',
    });
  const warm = DELIVERIES / 10;
  await load(warm);
  await untilDone(pool);
  const alone = await oneASecond(urlOf(beside), ({ sent }) => sent < ALONE);

  let isOver = false;
  const besideBurst = oneASecond(urlOf(beside), ({ sent }) => !isOver || sent < ALONE);
  const sending = load(DELIVERIES);
  if (redis) {
    await untilRecorded(pool, warm + ALONE + DELIVERIES * KILL_AT);
    await redis.kill9();
    await sleep(AWAY_MS);
    await redis.restart();
  }
  const { runs, seconds, p50, p99 } = await sending;
  const began = Date.now();
  const left = await untilDone(pool);
  const settledMs = Date.now() - began;
  isOver = true;
  const flooded = await besideBurst;
  await untilDone(pool);

  const sent = warm + runs + alone.length + flooded.length;
  const value = percentile(flooded, 99);
  const floor = percentile(alone, 99);
  const settings = {
    ...(await environment.settings()),
    deliveries: runs,
    clients: CLIENTS,
    burst: { seconds: Number(seconds.toFixed(2)), p50, p99 },
    settledMs,
    left,
    ...(await differences(pool, sent)),
    otherSamples: { alone: alone.length, beside: flooded.length },
    otherMs: { alone: p50And99(alone), beside: p50And99(flooded) },
    otherUntilDoneMs: await untilDoneOf(pool, other),
  };
  return [{ value, unit: 'ms', floor, ratio: Number((value / floor).toFixed(3)), settings }];
};

/** Deliveries of the other tenant, and how long each waited for its answer. */
async function oneASecond(url: string, goesOn: (so: { sent: number }) => boolean): Promise<number[]> {
  const times: number[] = [];
  while (goesOn({ sent: times.length })) {
    const began = performance.now();
    const response = await fetch(url, { method: 'POST', body: BODY, headers: { 'content-type': 'application/json' } });
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
    await response.bytes();
    const ms = performance.now() - began;
    times.push(Number(ms.toFixed(2)));
    await sleep(Math.max(0, 1_000 - ms));
  }
  return times;
}

function p50And99(times: readonly number[]) {
  return { p50: percentile(times, 50), p99: percentile(times, 99) };
}

async function numberOf(pool: Pool, what: string): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(`select count(*)::int as n from ${what}`);
  return rows[0]?.n ?? 0;
}

async function untilRecorded(pool: Pool, count: number): Promise<void> {
  while ((await numberOf(pool, 'listener_event')) < count) await sleep(20);
}

/** Until every event is processed and every run has ended. Answers with those that are left. */
async function untilDone(pool: Pool): Promise<number> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const events = await numberOf(pool, 'listener_event where finished_at is null');
    const left = events + (await numberOf(pool, 'workflow_instance where completed_at is null'));
    if (left === 0 || Date.now() > end) return left;
    await sleep(250);
  }
}

/** What was accepted and has no run that is COMPLETED, and what has more than one. */
async function differences(pool: Pool, sent: number) {
  const done = await numberOf(
    pool,
    `listener_event e join workflow_instance i on i.id = e.instance_id and i.status = 'COMPLETED' where e.state = 'done'`,
  );
  const events = await numberOf(pool, 'listener_event');
  const instances = await numberOf(pool, 'workflow_instance');
  return { lost: sent - done, doubled: Math.max(events, instances) - sent };
}

/** From the receipt of the other tenant's events until they were processed. */
async function untilDoneOf(pool: Pool, tenantID: string) {
  const { rows } = await pool.query<{ ms: number }>(
    'select extract(epoch from finished_at - received_at)::float8 * 1000 as ms from listener_event where tenant_id = $1 order by id',
    [tenantID],
  );
  const times = rows.map(({ ms }) => Math.round(ms));
  return { alone: p50And99(times.slice(0, ALONE)), beside: p50And99(times.slice(ALONE)) };
}
