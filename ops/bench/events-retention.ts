import { newID } from '#shared/core/ids.ts';
import { createLogger } from '#shared/core/logger.ts';
import { createEventRecorder, type NewEvent } from '#shared/triggers/listeners/event-recorder.ts';
import { retire } from '#workers/maintenance/retention/retire.ts';
import type { BenchEnvironment } from './environment.ts';
import type { Figure } from './row.ts';

/** Of each of the simulated minutes. P6 brings more, so the first part compares the rates themselves. */
const EVENTS = Number(process.env.BENCH_EVENTS ?? 3_000);
const AT_ONCE = 20_000;
const MINUTES = 60;
/** Minutes for which an event is kept. */
const KEPT = 10;
const tables = ['listener_event', 'listener_dedup'] as const;
const settings = { runsMs: 0, maxRunsMs: 0, queryRunsMs: 0, operatorAuditMs: 0 };

/**
 * Events as P6 brings them, each with an id of its sender, and their deletion by one worker, its rests included. First how many are
 * recorded and deleted in a second: recorded without a request, so faster than P6 is. Then an hour in simulated time.
 */
export async function eventsRetention(environment: BenchEnvironment): Promise<Figure[]> {
  const { pool, tenantID } = environment;
  // Jobs are no part of this.
  const producer = { enqueue: async () => undefined };
  await using recorder = createEventRecorder({ pool, producer, logger: createLogger({ level: 'warn' }) });
  const listenerID = newID();
  const record = (count: number) =>
    Promise.all(Array.from({ length: count }, () => recorder.record(anEvent({ tenantID, listenerID }))));
  const retireAll = async () => {
    let sum = 0;
    for (const table of tables) sum += await retire(table, { pool, settings });
    return sum;
  };

  await record(AT_ONCE / 10);
  const recordedIn = await seconds(() => record(AT_ONCE));
  await pool.query(EXPIRE, [0]);
  const deletedIn = await seconds(retireAll);
  const [recorded, deleted] = [AT_ONCE / recordedIn, (1.1 * AT_ONCE) / deletedIn].map(Math.round);
  const [left] = await sizesOf(pool);

  const sizes: number[] = [];
  const counts: number[] = [];
  for (let minute = 1; minute <= MINUTES; minute += 1) {
    await record(EVENTS);
    await pool.query(FINISH, [minute + KEPT]);
    await pool.query(EXPIRE, [minute]);
    await retireAll();
    for (const table of tables) await pool.query(`vacuum ${table}`);
    const [count = 0, bytes = 0] = await sizesOf(pool);
    counts.push(count);
    sizes.push(bytes);
  }
  const [level = 0, end = 0] = [sizes[KEPT + 1], sizes.at(-1)];
  const shared = await environment.settings();
  return [
    {
      figure: 'events deleted in a second, to those recorded',
      value: deleted ?? 0,
      unit: 'events/s',
      floor: recorded ?? 0,
      ratio: Number(((deleted ?? 0) / (recorded ?? 1)).toFixed(3)),
      settings: { ...shared, events: AT_ONCE, left },
    },
    {
      figure: 'size of the tables after an hour, to that after twelve minutes',
      value: Math.round(end / 1024),
      unit: 'kB',
      floor: Math.round(level / 1024),
      ratio: Number((end / level).toFixed(3)),
      settings: { ...shared, perMinute: EVENTS, kept: counts.at(-1), keptAtFirst: counts[KEPT + 1] },
    },
  ];
}

function anEvent(of: Pick<NewEvent, 'tenantID' | 'listenerID'>): NewEvent {
  const id = newID();
  return {
    ...of,
    id,
    source: 'webhook',
    method: 'POST',
    path: '/webhooks/v1/inbound/x',
    headers: [['content-type', 'application/json']],
    body: Buffer.from(JSON.stringify({ id, type: 'payment.succeeded', note: 'x'.repeat(700) })),
    dedup: { key: id, bodyHash: '00'.repeat(32), windowSeconds: 86_400 },
  };
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1_000;
}

/** Events, and the bytes of the tables with their indexes. */
async function sizesOf(pool: BenchEnvironment['pool']): Promise<number[]> {
  const { rows } = await pool.query<{ events: number; bytes: number }>(
    `select (select count(*)::int from listener_event) as events,
       (select sum(pg_total_relation_size(name::regclass))::int8 from unnest($1::text[]) name) as bytes`,
    [tables],
  );
  return [rows[0]?.events ?? 0, Number(rows[0]?.bytes ?? 0)];
}

// The simulated minute at which it is deleted stands in `attempts`, which nothing else reads here.
const FINISH = `
update listener_event set state = 'done', finished_at = now(), expires_at = 'infinity', attempts = $1 where finished_at is null`;

/** Ends the periods of events whose minute has come, and of their ids. With 0 of all. */
const EXPIRE = `
with e as (
  update listener_event set state = 'done', finished_at = coalesce(finished_at, now()), expires_at = now() - interval '1 second'
  where $1::int = 0 or (finished_at is not null and attempts <= $1::int) returning id
)
update listener_dedup set expires_at = now() - interval '1 second' where event_id in (select id from e)`;
