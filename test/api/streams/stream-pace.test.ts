/** How streams of server-sent events deal with slow clients, silence, and callers who have lost their access. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createEventStreams, type EventStream } from '#api/streams/event-streams.ts';
import { createRunWatch } from '#api/streams/run-watch.ts';
import { PAGE, READ, readRunEvents } from '#api/streams/watched-run-rows.ts';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { Pool } from '#shared/db/pool.ts';
import { presentRunEvent } from '#shared/messaging/realtime/run-events.ts';
import { type Deployment, startDeployment } from '../../support/deployment.ts';
import { testLogger } from '../../support/environment.ts';
import { eventually } from '../../support/settle.ts';

let deployment: Deployment;
let opened: AsyncDisposableStack;
beforeAll(async () => {
  deployment = await startDeployment();
});
afterAll(() => deployment[Symbol.asyncDispose]());
beforeEach(() => {
  opened = new AsyncDisposableStack();
});
afterEach(() => opened.disposeAsync());

/** More than systems keep for a connection. */
const EVENTS = 2_000;
const OUTPUT_BYTES = 12_000;

/** A run that has ended, with many events of the largest size that is sent. */
async function aLargeRun(): Promise<string> {
  const { pool, tenantID } = deployment;
  const id = newID();
  await pool.query(
    `insert into workflow_instance (id, tenant_id, version_id, status, caller, deadline_at, completed_at, seq)
     values ($1, $2, $1, 'COMPLETED', '{}', now(), now(), $3)`,
    [id, tenantID, EVENTS],
  );
  await pool.query(
    `insert into run_event (instance_id, seq, node_id, iteration, attempt, status, payload)
     select $1, n, case when n < $2 then 'n' end, 0, 1, case when n < $2 then 'SUCCESS' else 'COMPLETED' end,
       jsonb_build_object('output', text)
     from generate_series(1, $2) n cross join (select left(string_agg(md5(k::text), ''), $3) as text from generate_series(1, 400) k) x`,
    [id, EVENTS, OUTPUT_BYTES],
  );
  return id;
}

interface Streamed {
  /** Takes nothing until the test reads it. */
  client: Socket;
  response: ServerResponse;
  /** Resolves when the stream has ended on the server. */
  sent: Promise<void>;
  /** How many pages were read from Postgres. */
  pages: () => number;
}

async function stream(
  times: Parameters<typeof createEventStreams>[1],
  { instanceID, ...more }: Partial<EventStream> & { instanceID: string },
): Promise<Streamed> {
  let pages = 0;
  const pool: Pool = new Proxy(deployment.pool, {
    get(target, key) {
      if (key !== 'query') return Reflect.get(target, key, target);
      return (text: unknown, values: unknown[]) => {
        if (text === READ) pages += 1;
        return target.query(text as string, values);
      };
    },
  });
  const watch = opened.use(createRunWatch({ pool, logger: testLogger }));
  const draining = new AbortController().signal;
  const streams = opened.use(createEventStreams({ pool, watch, logger: testLogger, draining }, times));
  const own = {
    instanceID,
    lastSeq: 0,
    tenantID: deployment.tenantID,
    callerID: newID(),
    userID: newID(),
    maxMs: 60_000,
  };
  const began = Promise.withResolvers<Pick<Streamed, 'response' | 'sent'>>();
  const server = createServer((_request, response) => {
    began.resolve({ response, sent: streams.send({ check: async () => 1, ...own, ...more }, response) });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.defer(async () => void server.close());
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
  client.on('error', () => undefined);
  opened.defer(async () => void client.destroy());
  client.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  return { client, pages: () => pages, ...(await began.promise) };
}

async function textOf(client: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of client) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const idsIn = (text: string) => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));

test('a client that takes nothing holds a page and no more, and is disconnected after a while', async () => {
  const instanceID = await aLargeRun();
  const { response, sent, pages } = await stream({ stalledMs: 400 }, { instanceID });
  const buffered: number[] = [];
  const measure = setInterval(() => buffered.push(response.writableLength), 5);

  await sent;
  clearInterval(measure);

  expect(response.destroyed).toBe(true);
  // The buffer of Node, and the message that has filled it; the rest of the page waits as it was read.
  expect(Math.max(...buffered)).toBeLessThan(response.writableHighWaterMark + 2 * OUTPUT_BYTES);
  // A page is read when the client has taken the one before; the system takes a few.
  expect(pages() * PAGE.bytes).toBeLessThan((EVENTS * OUTPUT_BYTES) / 2);
});

test('a client that reads slowly gets every event once', async () => {
  const instanceID = await aLargeRun();
  const { client, response, sent } = await stream({ stalledMs: 30_000 }, { instanceID });
  await eventually(() => expect(response.writableNeedDrain).toBe(true));

  const text = await textOf(client);
  await sent;

  expect(idsIn(text)).toEqual(Array.from({ length: EVENTS }, (_, at) => at + 1));
});

test('an output that is too large for a message is not read, and the others are read page by page', async () => {
  const { pool } = deployment;
  const id = newID();
  await pool.query(
    `insert into run_event (instance_id, seq, node_id, attempt, status, payload)
     select $1, n, 'n', 1, 'SUCCESS', jsonb_build_object('output', repeat('x', length), 'log', '{}'::jsonb)
     from unnest($2::int[]) with ordinality as each(length, n)`,
    [id, [10_000, 1_000_000, 17_000, 150_000, 100_000, 100_000, 100_000]],
  );

  const first = await readRunEvents(pool, id, { after: 0 });
  const second = await readRunEvents(pool, id, { after: first.rows.at(-1)?.seq ?? 0 });
  const short = await readRunEvents(pool, id, { after: 0, page: { rows: 2, bytes: 1 } });

  expect(first).toMatchObject({
    rows: [{ seq: 1 }, { seq: 2 }, { seq: 3 }, { seq: 4 }, { seq: 5 }, { seq: 6 }],
    hasMore: true,
  });
  expect(second).toMatchObject({ rows: [{ seq: 7 }], hasMore: false });
  expect(short).toMatchObject({ rows: [{ seq: 1 }], hasMore: true });
  expect(first.rows[1]?.payload).toEqual({ log: {}, outputOmitted: true });
  const shown = first.rows.flatMap(presentRunEvent).map(({ payload }) => 'outputOmitted' in payload);
  expect(shown).toEqual([false, true, true, true, true, true]);
});

test('a silent stream has comments, which clients ignore and proxies count', async () => {
  const instanceID = newID();
  await deployment.pool.query(
    `insert into workflow_instance (id, tenant_id, version_id, status, caller, deadline_at) values ($1, $2, $1, 'WAITING', '{}', now())`,
    [instanceID, deployment.tenantID],
  );
  const { client, sent } = await stream({ heartbeatMs: 20 }, { instanceID, maxMs: 200 });

  const text = await textOf(client);
  await sent;

  expect(text.split('\r\n\r\n').slice(1).join('')).toMatch(/(?:^|\n):\n\n/);
  expect(idsIn(text)).toEqual([]);
});

test.each<{ lost: AppError; ends: boolean }>([
  { lost: new AppError('USER_AUTH_TOKEN_EXPIRED', 'The token has expired'), ends: true },
  { lost: new AppError('INVALID_API_KEY', 'The key is disabled'), ends: true },
  { lost: new AppError('UNAVAILABLE', 'Postgres is away'), ends: false },
])('a stream whose caller is checked with $lost.code ends: $ends', async ({ lost, ends }) => {
  const instanceID = newID();
  await deployment.pool.query(
    `insert into workflow_instance (id, tenant_id, version_id, status, caller, deadline_at) values ($1, $2, $1, 'WAITING', '{}', now())`,
    [instanceID, deployment.tenantID],
  );
  let checks = 0;
  const check = async () => {
    checks += 1;
    throw lost;
  };
  const { response, sent } = await stream({ changedMs: 10, allMs: 0 }, { instanceID, check });

  if (ends) await sent;
  else await eventually(() => expect(checks).toBeGreaterThan(2));

  expect(response.writableEnded).toBe(ends);
});
