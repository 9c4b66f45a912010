import { createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createMemoryBudget } from '#shared/concurrency/memory-budget.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { StoredAttempt } from '#shared/entities/tables/run-delivery.ts';
import { insertRuns, type NewRun } from '#shared/runs/accept.ts';
import { createOutbound } from '#workers/outbound/gate.ts';
import { createSender } from '#workers/runs/completion-sender.ts';
import { createDeliveries, outcomeOf } from '#workers/runs/completion-webhooks.ts';
import { type Deployment, startDeployment } from '../../support/deployment.ts';
import { testLogger } from '../../support/environment.ts';
import { explaining } from '../../support/explaining.ts';
import { noops } from '../../support/graphs.ts';
import { type HTTPServer, type SeenRequest, startHTTP } from '../../support/http-server.ts';
import { spawnNode } from '../../support/process.ts';
import { eventually } from '../../support/settle.ts';

let deployment: Deployment;
let receiver: HTTPServer;
let versionID: string;
/** The receiver's behaviour at a request; by default 204. */
let answer: (request: SeenRequest, response: ServerResponse) => void;
const resources = new AsyncDisposableStack();
beforeAll(async () => {
  deployment = resources.use(await startDeployment());
  versionID = await deployment.saveVersion(noops(1));
  receiver = resources.use(await startHTTP((request, response) => answer(request, response)));
});
afterAll(() => resources.disposeAsync());
beforeEach(async () => {
  for (const table of ['workflow_instance', 'run_delivery']) await deployment.pool.query(`delete from ${table}`);
  receiver.seen.length = 0;
  answer = (_request, response) => void response.writeHead(204).end();
});

const KEY = Buffer.alloc(32, 5);
const SECRET = `whsec_${KEY.toString('base64')}`;
const variables = { read: async () => new Map([['hook', { isSecret: true as const, open: () => SECRET }]]) };
const ENDS = ['COMPLETED', 'FAILED', 'CANCELLED'] as const;

const webhookTo = (url: string, on: readonly (typeof ENDS)[number][] = ENDS) => ({
  url,
  secret: 'hook',
  on: [...on],
  includeOutput: true,
});

async function accept(more: Partial<NewRun> = {}): Promise<string> {
  const completionWebhook = webhookTo(`${receiver.origin}/told`);
  const run = deployment.newRun(versionID, {}, { workflowID: newID(), completionWebhook, ...more });
  const [id = ''] = await insertRuns(deployment.pool, [run]);
  return id;
}

async function anotherTenant(): Promise<string> {
  const id = newID();
  await deployment.pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, 'T', $1)`, [id]);
  return id;
}

async function end(id: string, status: (typeof ENDS)[number] = 'COMPLETED', output: JsonObject | null = null) {
  await deployment.pool.query(
    `update workflow_instance set status = $2, output = $3, completed_at = now(), ready_at = null, started_at = now() where id = $1`,
    [id, status, JSON.stringify(output)],
  );
}

interface Row {
  id: string;
  instance_id: string;
  status: string;
  tries: number;
  next_at: Date | null;
  attempts: StoredAttempt[];
}

async function deliveries(): Promise<Row[]> {
  return (await deployment.pool.query<Row>('select * from run_delivery order by created_at, id')).rows;
}

function telling(pool: Pool = deployment.pool, allow = deployment.config.outbound.allow) {
  const sender = createSender({ outbound: createOutbound({ allow }), variables });
  const bytes = createMemoryBudget({ maxBytes: 64_000_000 });
  const telling = createDeliveries({ pool, bytes, sender, logger: testLogger, onEnd: () => undefined });
  return {
    ...telling,
    async [Symbol.asyncDispose]() {
      await telling[Symbol.asyncDispose]();
      await sender[Symbol.asyncDispose]();
    },
  };
}

/** Makes the attempts that are due, and returns the rows when all have ended. */
async function tell(...given: Parameters<typeof telling>): Promise<Row[]> {
  await using worker = telling(...given);
  await worker.begin();
  let rows: Row[] = [];
  await eventually(async () => {
    rows = await deliveries();
    for (const { attempts } of rows) expect(attempts.at(-1)).toHaveProperty('durationMs');
  });
  return rows;
}

const makeDue = () => deployment.pool.query('update run_delivery set next_at = now() where next_at is not null');

function isSigned({ headers, body }: SeenRequest): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = headers;
  return signature === `v1,${createHmac('sha256', KEY).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

describe('the end of a run', () => {
  test('is told once, signed, with its result', async () => {
    const id = await accept();
    await end(id, 'COMPLETED', { total: 7 });

    const [row] = await tell();
    await tell();

    expect(row).toMatchObject({ status: 'DELIVERED', tries: 1, next_at: null, attempts: [{ number: 1, status: 204 }] });
    expect(receiver.seen).toHaveLength(1);
    const [seen] = receiver.seen as [SeenRequest];
    expect(isSigned(seen)).toBe(true);
    expect(seen.headers['webhook-id']).toBe(row?.id);
    expect(Number(seen.headers['webhook-timestamp'])).toBeCloseTo(Date.now() / 1000, -2);
    expect(JSON.parse(seen.body)).toMatchObject({
      type: 'workflow.run.completed',
      data: { instanceID: id, status: 'COMPLETED', output: { total: 7 }, error: null, origin: 'direct' },
    });
  });

  test('is told for the states that the workflow names, and for no test or unsaved graph', async () => {
    const completionWebhook = webhookTo(`${receiver.origin}/told`, ['FAILED']);
    const failed = await accept({ completionWebhook });
    await end(failed, 'FAILED');
    await end(await accept({ completionWebhook }), 'COMPLETED');
    await end(await accept({ completionWebhook }), 'CANCELLED');
    await end(await accept({ isTest: true }));
    await end(await accept({ workflowID: null }));

    expect(await tell()).toMatchObject([{ instance_id: failed }]);
  });

  test('is told without an output above 64 kB, or one that is not wanted', async () => {
    await end(await accept(), 'COMPLETED', { text: 'x'.repeat(70_000) });
    const silent = { ...webhookTo(`${receiver.origin}/told`), includeOutput: false };
    await end(await accept({ completionWebhook: silent }), 'COMPLETED', { text: 'x' });

    await tell();

    const told = receiver.seen.map(({ body }) => JSON.parse(body).data);
    expect(told.find(({ outputOmitted }) => outputOmitted)).toMatchObject({ output: null });
    expect(told.find(({ outputOmitted }) => !outputOmitted)).toMatchObject({ output: null });
  });
});

describe('a delivery that fails', () => {
  test('is repeated under the same id with the same body, and each attempt stays in its history', async () => {
    answer = (_request, response) => void response.writeHead(receiver.seen.length === 1 ? 500 : 200).end('no room\0');
    await end(await accept());

    const [first] = await tell();
    expect(first).toMatchObject({
      status: 'PENDING',
      attempts: [{ number: 1, status: 500, response: 'no room\uFFFD' }],
    });
    await tell();
    expect(receiver.seen).toHaveLength(1);
    await makeDue();
    const [second] = await tell();

    expect(second).toMatchObject({ status: 'DELIVERED', attempts: [{ status: 500 }, { number: 2, status: 200 }] });
    const [one, other] = receiver.seen as [SeenRequest, SeenRequest];
    expect(other.headers['webhook-id']).toBe(one.headers['webhook-id']);
    expect(other.body).toBe(one.body);
    expect(isSigned(other)).toBe(true);
  });

  test('says why there was no answer', async () => {
    await end(await accept({ completionWebhook: { ...webhookTo(`${receiver.origin}/told`), secret: 'other' } }));
    const [unknown] = await tell();
    expect(unknown?.attempts).toMatchObject([{ status: null, error: 'There is no secret variable "other"' }]);

    await makeDue();
    await deployment.pool.query(`update run_delivery set secret = 'hook'`);
    const [refused] = await tell(deployment.pool, []);
    expect(refused?.attempts[1]?.error).toMatch(/neither a public address nor one that this deployment allows/);
    expect(receiver.seen).toEqual([]);
  });

  test('does not follow a redirect, nor read an answer without end', async () => {
    answer = (_request, response) => void response.writeHead(307, { location: `${receiver.origin}/other` }).end();
    await end(await accept());
    expect(await tell()).toMatchObject([{ status: 'PENDING', attempts: [{ status: 307 }] }]);

    answer = (_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      // As fast as the client takes it, until it hangs up.
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(50_000)));
      };
      response.on('drain', more);
      more();
    };
    await makeDue();
    const [row] = await tell();
    expect(row).toMatchObject({ status: 'DELIVERED' });
    expect(row?.attempts[1]?.response).toBe('x'.repeat(500));
  });

  test('is given up after ten attempts over about a day, and at once if the receiver is gone', () => {
    let seconds = 0;
    for (let tries = 1; tries < 10; tries += 1) {
      const outcome = outcomeOf({ tries_since_asked: tries }, { status: 503 });
      expect(outcome.status).toBe('PENDING');
      seconds += outcome.pauseSeconds;
    }
    expect(seconds / 3_600).toBeGreaterThan(17);
    expect(seconds / 3_600).toBeLessThan(30);
    expect(outcomeOf({ tries_since_asked: 10 }, { status: null }).status).toBe('FAILED');
    expect(outcomeOf({ tries_since_asked: 1 }, { status: 410 }).status).toBe('FAILED');
    const asked = { status: 429, retryAfterSeconds: 600 };
    expect(outcomeOf({ tries_since_asked: 1 }, asked)).toEqual({ status: 'PENDING', pauseSeconds: 600 });
  });
});

describe('a worker', () => {
  test('that is killed between sending and recording leaves a delivery that is sent again under its id', async () => {
    await end(await accept());
    await using worker = spawnNode(['test/workers/runs/tell-and-die.ts', SECRET], deployment.env);
    await eventually(() => expect(worker.child.signalCode).toBe('SIGKILL'));
    expect(receiver.seen).toHaveLength(1);
    expect(await deliveries()).toMatchObject([{ status: 'PENDING', tries: 1, attempts: [{ number: 1 }] }]);

    // Claimed by the dead worker for a minute.
    await using other = telling();
    await other.begin();
    expect(receiver.seen).toHaveLength(1);
    await makeDue();
    const [row] = await tell();

    expect(row).toMatchObject({ status: 'DELIVERED', attempts: [{ number: 1 }, { number: 2, status: 204 }] });
    expect(row?.attempts[0]).not.toHaveProperty('durationMs');
    expect(receiver.seen.map(({ headers }) => headers['webhook-id'])).toEqual([row?.id, row?.id]);
  });

  test('whose claim was over changes nothing of a later attempt', async () => {
    const waiting: ServerResponse[] = [];
    answer = (_request, response) => void waiting.push(response);
    await end(await accept());
    await using late = telling();
    await late.begin();
    await eventually(() => expect(waiting).toHaveLength(1));

    answer = (_request, response) => void response.writeHead(200).end();
    await makeDue();
    const [row] = await tell();
    waiting[0]?.writeHead(500).end();
    await late[Symbol.asyncDispose]();

    expect(row).toMatchObject({ status: 'DELIVERED' });
    expect(await deliveries()).toEqual([row]);
  });

  test('that stops leaves its deliveries due at once', async () => {
    answer = () => undefined;
    await end(await accept());
    const worker = telling();
    await worker.begin();
    await eventually(() => expect(receiver.seen).toHaveLength(1));
    await worker[Symbol.asyncDispose]();

    answer = (_request, response) => void response.writeHead(204).end();
    expect(await tell()).toMatchObject([{ status: 'DELIVERED', tries: 2 }]);
  });
});

test('receivers that do not answer hold up no other tenant, and not all of their own', async () => {
  answer = ({ url }, response) => void (url === '/silent' || response.writeHead(204).end());
  const silent = { completionWebhook: webhookTo(`${receiver.origin}/silent`) };
  const [one, two, well] = [newID(), newID(), newID()];
  for (let n = 0; n < 10; n += 1) {
    await end(await accept({ ...silent, workflowID: one }));
    await end(await accept({ ...silent, workflowID: two }));
    await end(await accept({ ...silent, tenantID: await anotherTenant() }));
  }
  const told = [await accept({ workflowID: well }), await accept({ tenantID: await anotherTenant() })];
  for (const id of told) await end(id);

  await using worker = telling();
  await worker.begin();
  await eventually(() => expect(receiver.seen.filter(({ url }) => url === '/told').length).toBeGreaterThan(0));
  // Two of each silent workflow of the tenant have its four places; another workflow of it waits for one.
  const under = (await deliveries()).filter(({ tries }) => tries > 0);
  const ofTenant = await deployment.pool.query(
    'select workflow_id, count(*)::int as n from run_delivery where tenant_id = $1 and tries > 0 group by 1',
    [deployment.tenantID],
  );
  expect(ofTenant.rows.map(({ n }) => n)).toEqual([2, 2]);
  expect(under.filter(({ instance_id }) => instance_id === told[1])).toHaveLength(1);
});

test('places that a round has taken and not used are there for the next, however often', async () => {
  await using worker = telling();
  for (let n = 1; n <= 6; n += 1) {
    // One delivery is due, and its workflow may have two under way.
    await end(await accept());
    await worker.begin();
    await eventually(async () => expect(receiver.seen).toHaveLength(n));
  }
  // All four places of the tenant are free again.
  answer = () => undefined;
  for (let n = 1; n <= 4; n += 1) await end(await accept());
  await worker.begin();
  await eventually(() => expect(receiver.seen).toHaveLength(10));
});

test('a round goes on behind the workflow with which the one before has ended', async () => {
  const { pool, newRun } = deployment;
  const unanswered: ServerResponse[] = [];
  answer = (_request, response) => void unanswered.push(response);
  const runs = (tenantID: string) => {
    const more = { tenantID, workflowID: newID(), completionWebhook: webhookTo(`${receiver.origin}/told`) };
    return Array.from({ length: 3 }, () => newRun(versionID, {}, more));
  };
  const tenants = await Promise.all(Array.from({ length: 40 }, anotherTenant));
  const ids = await insertRuns(pool, tenants.flatMap(runs));
  await pool.query(
    `update workflow_instance set status = 'COMPLETED', completed_at = now(), ready_at = null, started_at = now() where id = any($1::uuid[])`,
    [ids],
  );
  const visited = async () => {
    const { rows } = await pool.query<{ id: string }>(
      'select distinct tenant_id as id from run_delivery where tries > 0 order by 1',
    );
    return rows.map(({ id }) => id);
  };
  await using worker = telling();

  // Each workflow may have two of the 32 deliveries that are under way.
  await worker.begin();
  await eventually(() => expect(unanswered).toHaveLength(32));
  const first = await visited();
  expect(first).toEqual(tenants.toSorted().slice(0, first.length));
  for (const response of unanswered.splice(0)) response.writeHead(204).end();
  await eventually(async () =>
    expect((await deliveries()).filter(({ status }) => status === 'DELIVERED')).toHaveLength(32),
  );
  await worker.begin();

  await eventually(() => expect(unanswered).toHaveLength(32));
  // Two for each workflow again: the third of the first ones has to wait.
  expect((await visited()).length).toBeGreaterThan(first.length + 12);
});

test('looking for deliveries reads none that are settled or not due, also with a plan made beside an empty table', async () => {
  const { pool, tenantID } = deployment;
  const rowsRead = new Map<string, number>();
  await using beforehand = telling(explaining(pool, rowsRead));
  await end(await accept());
  await beforehand.begin();
  await eventually(async () => expect((await deliveries())[0]).toMatchObject({ status: 'DELIVERED' }));
  const statements = [...rowsRead.keys()];
  expect(statements.length).toBe(4);
  for (const text of statements) {
    const { rows } = await pool.query<{ 'QUERY PLAN': string }>(`explain (generic_plan) ${text}`);
    const plan = rows.map((row) => row['QUERY PLAN']).join(' ');
    expect(plan, text).not.toMatch(/Seq Scan on run_delivery/);
  }

  await pool.query(
    `insert into run_delivery (instance_id, tenant_id, workflow_id, url, secret, status, next_at)
     select gen_random_uuid(), $1, $2, '', '', case when n % 2 = 0 then 'DELIVERED' else 'PENDING' end, case when n % 2 = 1 then now() + interval '1 hour' end
     from generate_series(1, 6000) n`,
    [tenantID, newID()],
  );
  const ids = await Promise.all([1, 2, 3].map(() => accept()));
  for (const id of ids) await end(id);
  rowsRead.clear();
  await using worker = telling(explaining(pool, rowsRead));
  await worker.begin();
  await eventually(() => expect(receiver.seen).toHaveLength(4));
  for (const [text, rows] of rowsRead) expect(rows, text).toBeLessThan(40);
});
