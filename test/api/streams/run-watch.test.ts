import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sendTo } from '#api/realtime/sockets/socket.ts';
import { createRunWatch, type RunWatch } from '#api/streams/run-watch.ts';
import { newID } from '#shared/core/ids.ts';
import { createPool, type Pool } from '#shared/db/pool.ts';
import type { ServerMessage } from '#shared/messaging/realtime/events.ts';
import type { RunBroadcast } from '#shared/messaging/realtime/publish.ts';
import { presentRunEvent, type RunEventRow } from '#shared/messaging/realtime/run-events.ts';
import { freshDatabase } from '../../support/database.ts';
import { testLogger } from '../../support/environment.ts';
import { eventually } from '../../support/settle.ts';
import { bufferedFor, openPair } from '../../support/slow-client.ts';

const resources = new AsyncDisposableStack();
let pool: Pool;
let watch: RunWatch;
let tenantID: string;

beforeAll(async () => {
  const database = resources.use(await freshDatabase());
  pool = createPool({ url: database.url, poolSize: 5 }, testLogger);
  resources.defer(() => pool.end());
  watch = resources.use(createRunWatch({ pool, logger: testLogger }));
  tenantID = newID();
  await pool.query('insert into tenant (id, tenant_title, creator_id) values ($1, $2, $3)', [tenantID, 'A', newID()]);
});

afterAll(() => resources.disposeAsync());

test('a watcher gets all events after lastSeq, page by page, each once and in order', async () => {
  const run = await aRun();
  await commit(run, 1_700);
  const seen: number[] = [];

  watch.watch(run.id, 100, collect(seen));
  await eventually(() => expect(seen).toHaveLength(1_600));

  expect(seen).toEqual(numbers(101, 1_700));
});

test('duplicate and reordered messages are delivered once and in order', async () => {
  const run = await aRun();
  const seen: number[] = [];
  watch.watch(run.id, 0, collect(seen));
  await isMarked(run);
  const first = await commit(run, 2);
  const second = await commit(run, 3);
  const third = await commit(run, 1);

  for (const broadcast of [third, second, first, first, third]) watch.receive(broadcast);
  await eventually(() => expect(seen).toHaveLength(6));

  expect(seen).toEqual(numbers(1, 6));
});

test('a lost message is read from Postgres as soon as a later one shows the gap', async () => {
  const run = await aRun();
  const seen: number[] = [];
  watch.watch(run.id, 0, collect(seen));
  await isMarked(run);
  await commit(run, 4);

  watch.receive(await commit(run, 1));
  await eventually(() => expect(seen).toHaveLength(5), 500);

  expect(seen).toEqual(numbers(1, 5));
});

test('without messages, the comparison with Postgres finds missing events', async () => {
  const run = await aRun();
  const seen: number[] = [];
  watch.watch(run.id, 0, collect(seen));
  await isMarked(run);

  await commit(run, 3);
  await eventually(() => expect(seen).toEqual([1, 2, 3]));
});

test('a late watcher gets all events, and no watcher gets an event twice', async () => {
  const run = await aRun();
  const [early, late]: [number[], number[]] = [[], []];
  watch.watch(run.id, 0, collect(early));
  watch.receive(await commit(run, 10));
  await eventually(() => expect(early).toHaveLength(10));

  watch.watch(run.id, 0, collect(late));
  watch.receive(await commit(run, 2));
  await eventually(() => expect(late).toHaveLength(12));

  expect(late).toEqual(numbers(1, 12));
  expect(early).toEqual(numbers(1, 12));
});

test('while commits and joins race, every watcher gets each event exactly once and in order', async () => {
  const run = await aRun();
  const all: number[][] = [];

  for (let round = 0; round < 60; round += 1) {
    const seen: number[] = [];
    all.push(seen);
    watch.watch(run.id, 0, collect(seen));
    const broadcast = await commit(run, 1 + (round % 3));
    // A third of the messages is lost, a third comes late.
    if (round % 3 === 0) watch.receive(broadcast);
    if (round % 3 === 1) setTimeout(() => watch.receive(broadcast), 5);
  }
  watch.receive(await end(run));
  await eventually(() => expect(all.every((seen) => seen.length === run.seq)).toBe(true));

  for (const seen of all) expect(seen).toEqual(numbers(1, run.seq));
});

test('the watcher of a finished run gets all events, and then causes no queries', async () => {
  const run = await aRun();
  await commit(run, 3);
  await end(run);
  const { state, pool: counted } = observed(pool);
  await using other = createRunWatch({ pool: counted, logger: testLogger });
  const [seen, later]: [number[], number[]] = [[], []];

  other.watch(run.id, 0, collect(seen));
  other.watch(run.id, 4, collect(later));
  other.watch(run.id, 99, collect(later));
  await eventually(() => expect(seen).toEqual([1, 2, 3, 4]));
  await sleep(50);
  state.asked = 0;
  await sleep(1_300);

  expect(later).toEqual([]);
  expect(state.asked).toBe(0);
});

test('a watcher that has stopped gets no more events', async () => {
  const run = await aRun();
  const seen: number[] = [];
  const stop = watch.watch(run.id, 0, collect(seen));
  watch.receive(await commit(run, 1));
  await eventually(() => expect(seen).toEqual([1]));

  stop();
  watch.receive(await commit(run, 1));
  await sleep(50);

  expect(seen).toEqual([1]);
});

test('a slow watcher gets its pages at its own pace, and does not delay the others', async () => {
  const run = await aRun();
  await commit(run, 2_000);
  const [slow, quick]: [number[], number[]] = [[], []];
  const sizes: number[] = [];
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();

  watch.watch(run.id, 0, async (messages) => {
    sizes.push(messages.length);
    await gate;
    slow.push(...messages.map(({ payload }) => payload.seq));
  });
  watch.watch(run.id, 0, collect(quick));
  await eventually(() => expect(quick).toHaveLength(2_000));
  expect(sizes).toEqual([500]);
  open();
  await eventually(() => expect(slow).toHaveLength(2_000));

  expect(slow).toEqual(numbers(1, 2_000));
});

test('a client that reads nothing holds little of the runs that it has joined, and gets everything once it reads', async () => {
  const runs = await Promise.all(Array.from({ length: 12 }, aRun));
  for (const run of runs) await commitLong(run, 100);
  const { state, pool: counted } = observed(pool);
  await using other = createRunWatch({ pool: counted, logger: testLogger });
  await using pair = await openPair();
  const { socket, client, connection } = pair;
  connection.pause();

  for (const run of runs) other.watch(run.id, 0, sendTo(socket));
  await eventually(() => expect(state.asked).toBeGreaterThanOrEqual(2 * runs.length));
  // Until nothing more is read for it.
  await eventually(async () => {
    const { asked } = state;
    await sleep(200);
    expect(state.asked).toBe(asked);
  });
  expect(bufferedFor(socket)).toBeLessThan(1_000_000);
  connection.resume();

  await eventually(() => expect(client.messages).toHaveLength(runs.length * 100));
  for (const { id } of runs) {
    const own = client.messages.filter(({ payload }) => payload.instanceID === id);
    expect(own.map(({ payload }) => payload.seq)).toEqual(numbers(1, 100));
  }
});

test('watching a run requests its publication for a minute', async () => {
  const run = await aRun();
  expect(await watchedFor(run)).toBeNull();

  const stop = watch.watch(run.id, 0, () => undefined);
  await isMarked(run);
  stop();

  expect(await watchedFor(run)).toBeGreaterThan(50);
});

test('an outage of the database loses no events', async () => {
  const run = await aRun();
  const { state, pool: flaky } = observed(pool);
  await using other = createRunWatch({ pool: flaky, logger: testLogger });
  const seen: number[] = [];
  state.isDown = true;

  other.watch(run.id, 0, collect(seen));
  await commit(run, 5);
  await sleep(50);
  state.isDown = false;
  await eventually(() => expect(seen).toEqual(numbers(1, 5)));
});

interface Run {
  id: string;
  seq: number;
}

async function aRun(): Promise<Run> {
  const id = newID();
  await pool.query(
    `insert into workflow_instance (id, tenant_id, version_id, status, deadline_at, caller)
     values ($1, $2, $1, 'RUNNING', now() + interval '1 day', '{}')`,
    [id, tenantID],
  );
  return { id, seq: 0 };
}

/** Writes events and `seq` in one statement, like the engine. Answers with the messages that the engine would publish. */
async function commit(run: Run, count: number): Promise<RunBroadcast> {
  const rows = numbers(run.seq + 1, run.seq + count).map((seq) => eventOf(run, seq, 'SUCCESS'));
  return write(run, rows, 'RUNNING');
}

/** Events of 9.6 kB each. */
async function commitLong(run: Run, count: number): Promise<void> {
  await pool.query(
    `with e as (
       insert into run_event (instance_id, seq, node_id, status, payload)
       select $1::uuid, n, 'n', 'SUCCESS', jsonb_build_object('output', repeat(md5(n::text), 300)) from generate_series(1, $2::int) n
     )
     update workflow_instance set seq = $2 where id = $1`,
    [run.id, count],
  );
}

function end(run: Run): Promise<RunBroadcast> {
  return write(run, [eventOf(run, run.seq + 1, 'COMPLETED')], 'COMPLETED');
}

function eventOf(run: Run, seq: number, status: 'SUCCESS' | 'COMPLETED'): RunEventRow {
  const nodeID = status === 'COMPLETED' ? null : `n${seq}`;
  return {
    instanceID: run.id,
    seq,
    nodeID,
    iteration: 0,
    frame: null,
    started: null,
    attempt: 1,
    status,
    exit: null,
    at: new Date(0),
    payload: { output: { seq } },
  };
}

async function write(run: Run, rows: RunEventRow[], status: string): Promise<RunBroadcast> {
  run.seq += rows.length;
  await pool.query(
    `with e as (
       insert into run_event (instance_id, seq, node_id, status, payload)
       select $1, r.seq, r."nodeID", r.status, r.payload
       from jsonb_to_recordset($2) as r(seq bigint, "nodeID" text, status text, payload jsonb)
     )
     update workflow_instance set seq = $3, status = $4::varchar, completed_at = case when $4::varchar = 'COMPLETED' then now() end where id = $1`,
    [run.id, JSON.stringify(rows), run.seq, status],
  );
  return [[run.id, rows.flatMap(presentRunEvent)]];
}

function collect(seen: number[]) {
  return (messages: ServerMessage[]) => {
    seen.push(...messages.map(({ payload }) => payload.seq));
  };
}

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

async function watchedFor({ id }: Run): Promise<number | null> {
  const { rows } = await pool.query<{ seconds: number | null }>(
    'select extract(epoch from watched_until - now())::float8 as seconds from workflow_instance where id = $1',
    [id],
  );
  return rows[0]?.seconds ?? null;
}

async function isMarked(run: Run): Promise<void> {
  await eventually(async () => expect(await watchedFor(run)).not.toBeNull());
}

/** The pool, with a count of its queries and a switch. */
function observed(real: Pool) {
  const state = { asked: 0, isDown: false };
  const query = (...args: unknown[]) => {
    state.asked += 1;
    if (state.isDown) return Promise.reject(new Error('Connection terminated'));
    return Reflect.apply(real.query, real, args);
  };
  return { state, pool: { query } as unknown as Pool };
}
