/** Each sample, installed through the public API and run to its end by what starts and answers it in earnest. */
import { createHmac } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createCall } from '#ops/samples/call.ts';
import { installSample } from '#ops/samples/install.ts';
import { readSample } from '#ops/samples/read.ts';
import { type AIProviderServer, startAIProvider } from '../servers/ai-provider.ts';
import { findMariaDB, startMariaDB } from '../servers/mariadb.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { minuteAgo } from '../support/cron.ts';
import { broughtDatabase } from '../support/database.ts';
import { aMember, aTenant, type TestTenant } from '../support/factories.ts';
import { type HTTPServer, json, startHTTP } from '../support/http-server.ts';
import { eventually, settle } from '../support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
/** Rates of exchange, coordinates of places, and a chat. */
let services: HTTPServer;
let model: AIProviderServer;
beforeAll(async () => {
  // A tick is up to a minute old before it is due here.
  cluster = await startCluster({ workers: true, settings: { CRON_LATE_SECONDS: '120' } });
  tenant = await aTenant(cluster);
  model = await startAIProvider();
  services = await startHTTP(({ url }, response) => {
    const { pathname, searchParams: asked } = new URL(url, 'http://services');
    if (pathname === '/chat') return json(response, { ok: true });
    if (pathname === '/rates/latest' && asked.get('symbols') === 'EUR' && asked.get('base') === 'USD')
      return json(response, { base: 'USD', rates: { EUR: 0.9 } });
    if (pathname === '/places/search' && asked.get('count') === '1') {
      const name = asked.get('name');
      if (name === 'Nowhere at all') return json(response, { generationtime_ms: 1 });
      if (name === 'Osaka') return json(response, { reason: 'busy' }, 400);
      return json(response, { results: [{ name, latitude: 52.5, longitude: 13.4 }] });
    }
    json(response, { message: 'not found' }, 404);
  });
});
afterAll(async () => {
  await services[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

const SECRET = 'of the shop';
const api = (user = tenant.creator) => cluster.as(user).in(tenant);

async function install(name: string, datasources = {}) {
  const call = createCall(cluster.baseURL, await cluster.tokenFor(tenant.creator));
  const sample = await readSample(name);
  const values = {
    ...(name === 'webhook-enrichment' && { ratesURL: `${services.origin}/rates` }),
    ...(name === 'batch-coordinates' && { geocodingURL: `${services.origin}/places` }),
    ...(name === 'incident-escalation' && { incidentChatURL: `${services.origin}/chat` }),
  };
  const given = { tenantID: tenant.id, values, datasources, secrets: { webhookSecret: SECRET } };
  const { ids } = await installSample(call, sample, given);
  const [example = expect.fail(`${name} has no example`)] = sample.examples;
  return { ids, sample, example, workflowID: ids.get(example.workflowID) ?? '' };
}

async function start(workflowID: string, args: object): Promise<string> {
  const { status, body } = await api().post(`T/workflows/${workflowID}/execute`, { args });
  expect({ status, error: body.error ?? null }).toEqual({ status: 200, error: null });
  return body.instanceID;
}

const read = async (instanceID: string) => (await api().get(`T/workflows/instances/${instanceID}`)).body;

async function ended(instanceID: string) {
  await eventually(async () => expect(['COMPLETED', 'FAILED']).toContain((await read(instanceID)).status), 30_000);
  return read(instanceID);
}

const run = async (workflowID: string, args: object) => ended(await start(workflowID, args));

interface Question {
  collectionRequestID: string;
  instanceID: string;
  collectionConfig: { title: string; description: string };
}

/** The question of a run that waits for its answer; one that was answered before does not count. */
async function asked(instanceID: string, before?: Question): Promise<Question> {
  let found: Question | undefined;
  await eventually(async () => {
    const { requests } = (await api().get('T/workflows/data-collection?status=PENDING')).body;
    found = requests.find(
      (one: Question) => one.instanceID === instanceID && one.collectionRequestID !== before?.collectionRequestID,
    );
    expect(found).toBeDefined();
  }, 30_000);
  return found ?? expect.fail('nothing is asked');
}

async function answer({ collectionRequestID }: Question, submittedData: object): Promise<void> {
  const answered = await api().post(`T/workflows/data-collection/${collectionRequestID}/submit`, { submittedData });
  expect(answered).toMatchObject({ status: 200 });
}

/** Lets minutes pass for the question of a run, and wakes the run. */
async function pass(instanceID: string, minutes: number): Promise<void> {
  const { pool } = cluster;
  // The question has its row before the run is parked.
  await eventually(async () => {
    const { rows } = await pool.query('select from workflow_instance where id = $1 and wake_at is not null', [
      instanceID,
    ]);
    expect(rows).toHaveLength(1);
  });
  await pool.query(
    `update collection_request set created_at = created_at - make_interval(mins => $2), expires_at = expires_at - make_interval(mins => $2)
     where instance_id = $1`,
    [instanceID, minutes],
  );
  await pool.query('update run_wait set due_at = due_at - make_interval(mins => $2) where instance_id = $1', [
    instanceID,
    minutes,
  ]);
  await pool.query(
    'update workflow_instance set wake_at = wake_at - make_interval(mins => $2) where id = $1 and held_by is null',
    [instanceID, minutes],
  );
}

async function remindersOf(instanceID: string): Promise<number[]> {
  const { timeline } = await read(instanceID);
  return timeline.flatMap(({ reminder }: { reminder?: { number: number } }) => reminder?.number ?? []);
}

async function rows(sql: string): Promise<unknown[]> {
  const { status, body } = await api().post('T/database/execute-raw-sql', { sql });
  expect(status).toBe(200);
  return body.result;
}

/** Lets a cron job fire at the minute that has just begun, as its calendar would; answers with the run that it has started. */
async function tick(title: string): Promise<string> {
  const [{ id }] = (await api().get(`T/cronjobs?search=${encodeURIComponent(title)}`)).body.cronJobs;
  const at = minuteAgo(0);
  await api().patch(`T/cronjobs/${id}`, { cronJobSchedule: `${at.getUTCMinutes()} ${at.getUTCHours()} * * *` });
  await cluster.pool.query('update cron_job set next_at = $2, due_at = $2 where id = $1', [id, at]);
  let started: string | null = null;
  await eventually(async () => {
    const { cronJobHistory } = (await api().get(`T/cronjobs/${id}/history`)).body;
    const fired = cronJobHistory.find(({ scheduledAt }: { scheduledAt: string }) => scheduledAt === at.toISOString());
    expect(fired).toMatchObject({ outcome: 'fired', instanceID: expect.any(String) });
    started = fired.instanceID;
  }, 30_000);
  return started ?? expect.fail('the tick has started no run');
}

test('order approval: small orders at once, large ones by a person who is reminded, and each decision is stored', async () => {
  const { workflowID, example } = await install('order-approval');
  const order = (orderID: string, total: number) => ({ ...example.args, orderID, total });

  expect(await run(workflowID, order('R-1', 120))).toMatchObject({
    status: 'COMPLETED',
    output: { decision: 'approved' },
  });
  const large = await start(workflowID, order('R-2', 2400));
  const question = await asked(large);
  expect(question.collectionConfig.title).toBe(`Approve order R-2 of ${example.args.customer} over 2400?`);
  await pass(large, 241);
  await eventually(async () => expect(await remindersOf(large)).toEqual([1]), 30_000);
  await answer(question, { decision: 'approve' });
  await answer(await asked(large, question), { carrier: 'express', note: 'Fragile' });
  expect(await ended(large)).toMatchObject({ status: 'COMPLETED', output: { carrier: 'express' } });
  const late = await start(workflowID, order('R-3', 900));
  await asked(late);
  await pass(late, 2881);

  expect(await ended(late)).toMatchObject({ status: 'COMPLETED', output: { decision: 'expired' } });
  expect(
    await rows(`select order_id, status, carrier, note from sample_orders where order_id like 'R-%' order by 1`),
  ).toEqual([
    { order_id: 'R-1', status: 'approved', carrier: 'standard', note: null },
    { order_id: 'R-2', status: 'approved', carrier: 'express', note: 'Fragile' },
    { order_id: 'R-3', status: 'expired', carrier: null, note: null },
  ]);
});

test('nightly import: its cron job saves the good rows, twice without doubles, and reports the others', async () => {
  const { example, workflowID } = await install('nightly-import');
  const [job] = (await api().get('T/cronjobs?search=Nightly')).body.cronJobs;
  expect(job).toMatchObject({ cronJobSchedule: '0 2 * * *', cronJobEnabled: true });
  expect(job.nextRunAt).toMatch(/T02:00:00/);

  const first = await ended(await tick('Nightly'));
  await run(workflowID, example.args);

  expect(await rows('select customer_id::int, email from sample_customers order by 1')).toEqual([
    { customer_id: 1001, email: 'ada@example.com' },
    { customer_id: 1002, email: 'grace@example.com' },
    { customer_id: 1005, email: 'katherine@example.com' },
  ]);
  expect(await rows(`select imported, failed, errors from sample_import_reports order by id`)).toEqual([
    example.output,
    example.output,
  ]);
  expect(first.maps).toMatchObject([{ done: 6, total: 6, failed: 3 }]);
  const { lines } = (await api().get(`T/workflows/instances/${first.instanceID}/logs?nodeID=note&level=info`)).body;
  expect(lines.map(({ message }: { message: string }) => message)).toContain('3 imported, 3 refused');
});

test('nightly import: the schedule stays as the tenant has changed it', async () => {
  await install('nightly-import');
  const job = async () => (await api().get('T/cronjobs?search=Nightly')).body.cronJobs[0];
  const { id } = await job();
  await api().patch(`T/cronjobs/${id}`, { cronJobSchedule: '30 4 * * *' });

  await install('nightly-import');

  expect(await job()).toMatchObject({ id, cronJobSchedule: '30 4 * * *' });
});

test('webhook: a signed delivery is stored with its total in euros, also without the service; another one is refused', async () => {
  await install('webhook-enrichment');
  const deliver = async (order: object, secret = SECRET) => {
    const body = JSON.stringify(order);
    const signature = createHmac('sha256', secret).update(body).digest('hex');
    const url = `${cluster.baseURL}/webhooks/v1/inbound/${tenant.id}/sample-orders`;
    const headers = { 'content-type': 'application/json', 'x-signature': signature };
    return (await fetch(url, { method: 'POST', headers, body })).status;
  };
  const order = (orderID: string, currency: string) => ({
    orderID,
    customer: 'grace@example.com',
    currency,
    total: 120,
  });

  const answers = [
    await deliver(order('T-0', 'USD'), 'of another'),
    await deliver(order('T-1', 'USD')),
    await deliver(order('T-2', 'EUR')),
    await deliver(order('T-3', 'XXX')),
  ];
  await settle(cluster.pool);
  answers.push(await deliver({ ...order('T-1', 'USD'), customer: 'ada@example.com' }));

  expect(answers).toEqual([401, 200, 200, 200, 200]);
  await eventually(async () =>
    expect(
      await rows(
        `select order_id, customer, rate::float8, total_eur::float8 from sample_webhook_orders where order_id like 'T-%' order by 1`,
      ),
    ).toEqual([
      { order_id: 'T-1', customer: 'ada@example.com', rate: 0.9, total_eur: 108 },
      { order_id: 'T-2', customer: 'grace@example.com', rate: 1, total_eur: 120 },
      { order_id: 'T-3', customer: 'grace@example.com', rate: null, total_eur: null },
    ]),
  );
  const runs = async () => (await api().get('T/workflows/instances?origin=listener')).body.instances;
  await eventually(async () =>
    expect((await runs()).map(({ status }: { status: string }) => status)).toEqual(Array(4).fill('COMPLETED')),
  );
});

test('batch by a map: all places at once, each with its coordinates or the reason why it has none', async () => {
  const { workflowID, example } = await install('batch-coordinates');

  const { output, maps } = await run(workflowID, example.args);

  expect(output).toEqual({ total: 6, done: 4, failed: 2 });
  expect(maps).toMatchObject([{ done: 6, total: 6, failed: 0 }]);
  expect(await rows('select name, status, latitude::float8, fault from sample_places order by place_id')).toMatchObject(
    [
      { name: 'Berlin', status: 'done', latitude: 52.5, fault: null },
      { name: 'Nairobi', status: 'done' },
      { name: 'Quito', status: 'done' },
      {
        name: 'Nowhere at all',
        status: 'failed',
        latitude: null,
        fault: expect.stringContaining('no place has this name'),
      },
      { name: 'Osaka', status: 'failed', latitude: null, fault: expect.stringContaining('400') },
      { name: 'Reykjavik', status: 'done' },
    ],
  );
  expect((await run(workflowID, example.args)).output).toEqual({ total: 0, done: 0, failed: 0 });
});

test('AI classification: a sure answer is taken; an unsure one, and a model that fails, leave it to a person', async () => {
  const { workflowID, example } = await install('ai-triage');
  const { AI_PROVIDER: provider, AI_BASE_URL: baseURL, AI_MODEL: name } = model.settings;
  await api().post('T/ai-config', { provider, baseURL, model: name });
  const says = (confidence: number) => ({
    pieces: [JSON.stringify({ category: 'billing', priority: 'urgent', confidence, reply: 'We look into it.' })],
  });
  const request = (requestID: string) => ({ ...example.args, requestID });

  model.play(says(0.95));
  const sure = await run(workflowID, request('S-1'));
  const prompt = model.seen.at(-1)?.body ?? '';
  model.play(says(0.3));
  const unsure = await start(workflowID, request('S-2'));
  const question = await asked(unsure);
  await answer(question, { category: 'technical', priority: 'low' });
  model.play({ status: 401 });
  const failing = await start(workflowID, request('S-3'));
  const other = await asked(failing);
  await answer(other, { category: 'other', priority: 'normal', reply: 'Thank you for writing.' });

  expect(sure).toMatchObject({ status: 'COMPLETED', output: { category: 'billing', decidedBy: 'model' } });
  expect(prompt).toContain('I see two charges');
  expect(question.collectionConfig.title).toBe('Classify the request S-2: Charged twice');
  expect((await ended(unsure)).output).toEqual({
    ...{ category: 'technical', priority: 'low', reply: 'We look into it.', decidedBy: 'person' },
  });
  expect((await ended(failing)).output).toMatchObject({ reply: 'Thank you for writing.', decidedBy: 'person' });
  expect(
    await rows('select request_id, category, decided_by, confidence::float8 from sample_support_requests order by 1'),
  ).toEqual([
    { request_id: 'S-1', category: 'billing', decided_by: 'model', confidence: 0.95 },
    { request_id: 'S-2', category: 'technical', decided_by: 'person', confidence: 0.3 },
    { request_id: 'S-3', category: 'other', decided_by: 'person', confidence: 0 },
  ]);
});

test('escalation: the first line is reminded, then the second line, and an incident that no one takes fails its run', async () => {
  const { workflowID, example } = await install('incident-escalation');
  const instanceID = await start(workflowID, { ...example.args, incidentID: 'I-1' });
  const first = await asked(instanceID);
  await pass(instanceID, 6);
  await eventually(async () => expect(await remindersOf(instanceID)).toEqual([1]), 30_000);
  await pass(instanceID, 7);
  await eventually(async () => expect(await remindersOf(instanceID)).toEqual([1, 2]), 30_000);
  await pass(instanceID, 3);
  const second = await asked(instanceID, first);
  await pass(instanceID, 11);
  await eventually(async () => expect(await remindersOf(instanceID)).toEqual([1, 2, 1]), 30_000);
  await answer(second, { decision: 'approve', comment: 'I lead it' });
  const missed = await start(workflowID, { ...example.args, incidentID: 'I-2', summary: 'The disk is full' });
  const unheard = await asked(missed);
  await answer(unheard, { decision: 'reject' });
  await asked(missed, unheard);
  await pass(missed, 31);

  expect(await ended(instanceID)).toMatchObject({ status: 'COMPLETED', output: { incidentID: 'I-1', level: 2 } });
  expect(await ended(missed)).toMatchObject({
    status: 'FAILED',
    error: { message: expect.stringContaining('No one has taken over the incident I-2') },
  });
  expect([first, second].map(({ collectionConfig }) => collectionConfig.title)).toEqual([
    'Take over the incident I-1: The shop answers with errors?',
    'Lead the incident I-1: The shop answers with errors?',
  ]);
  expect(await rows(`select incident_id, state, level, comment from sample_incidents order by 1`)).toEqual([
    { incident_id: 'I-1', state: 'taken', level: 2, comment: 'I lead it' },
    { incident_id: 'I-2', state: 'missed', level: 2, comment: null },
  ]);
  const told = services.seen.filter(({ url }) => url === '/chat').map(({ body }) => JSON.parse(body).text);
  expect(told).toEqual(['Incident I-1 (high): The shop answers with errors', 'Incident I-2 (high): The disk is full']);
});

test('form: who may only read pages starts the process by its page; leave at the same time is counted, and the decision stored', async () => {
  const { ids, sample, example, workflowID } = await install('leave-request');
  const page = sample.items.find(({ type }) => type === 'appPage');
  const viewer = await aMember(cluster, { tenant, can: ['appPage.read'] });
  const request = async (employee: string) => {
    const body = { inputValues: { ...example.args, employee } };
    const path = `T/app-pages/${ids.get(page?.id ?? '')}/workflows/request/execute`;
    const sent = await api(viewer).post(path, body);
    expect(sent).toMatchObject({ status: 200 });
    return sent.body.instanceID as string;
  };

  const ada = await request('ada@example.com');
  await answer(await asked(ada), { decision: 'approve', comment: 'Enjoy it' });
  expect(await ended(ada)).toMatchObject({ status: 'COMPLETED', output: { state: 'approved', days: 5 } });
  const grace = await request('grace@example.com');
  const question = await asked(grace);
  await answer(question, { decision: 'reject' });
  expect((await ended(grace)).output).toMatchObject({ state: 'rejected' });
  const weekend = await run(workflowID, { ...example.args, from: '2027-07-10', until: '2027-07-11' });

  expect(question.collectionConfig).toMatchObject({
    title: 'Approve 5 days of leave for grace@example.com?',
    description: 'From 2027-07-05 to 2027-07-09, holiday. Away at the same time: 1.',
  });
  expect(weekend).toMatchObject({ status: 'FAILED', error: { message: expect.stringContaining('no working day') } });
  expect(await rows('select employee, days, state, comment from sample_leave order by request_id')).toEqual([
    { employee: 'ada@example.com', days: 5, state: 'approved', comment: 'Enjoy it' },
    { employee: 'grace@example.com', days: 5, state: 'rejected', comment: '' },
  ]);
});

describe('sync', () => {
  /** Runs the sample against another database until all kinds of changes are there. */
  async function syncs(
    datasourceType: string,
    datasourceOptions: object,
    begin: (workflowID: string) => Promise<string>,
  ) {
    const created = await api().post('T/datasources', {
      datasourceTitle: 'Warehouse',
      datasourceType,
      datasourceOptions,
    });
    expect(created).toMatchObject({ status: 201 });
    const { datasourceID: id } = created.body.datasource;
    await rows('drop table if exists sample_contacts, sample_contacts_sync');
    const { workflowID, example } = await install('database-sync', { other: { id, datasourceType } });
    const there = async () => {
      const dataQueryOptions = { query: 'select name, email, phone from sample_contacts_copy order by contact_id' };
      const dataQuery = { datasourceID: id, datasourceType, dataQueryOptions };
      const { body } = await api().patch('T/queries/queryTest', { dataQuery });
      return body.dataQueryResult.map(Object.values);
    };

    const first = await ended(await begin(workflowID));
    expect(first).toMatchObject({ error: null, status: 'COMPLETED', output: { written: 3, deleted: 0 } });
    expect(await there()).toEqual([
      ['Ada Lovelace', 'ada@example.com', '+44 20 1'],
      ['Grace Hopper', 'grace@example.com', '+1 212 2'],
      ['Katherine Johnson', 'katherine@example.com', null],
    ]);
    await rows(`update sample_contacts set email = 'ada@example.org' where name like 'Ada%'`);
    await rows(`update sample_contacts set deleted_at = now() where name like 'Grace%'`);
    await rows(`insert into sample_contacts (name) values ('Dorothy’s “friend”')`);

    const parts = [await run(workflowID, { limit: 2 }), await run(workflowID, example.args), await run(workflowID, {})];
    expect(parts.map(({ output }) => output)).toEqual([
      { written: 1, deleted: 1 },
      { written: 1, deleted: 0 },
      { written: 0, deleted: 0 },
    ]);
    expect(await there()).toEqual([
      ['Ada Lovelace', 'ada@example.org', '+44 20 1'],
      ['Katherine Johnson', 'katherine@example.com', null],
      ['Dorothy’s “friend”', null, null],
    ]);
  }

  test('to another Postgres, by its cron job: new, changed and deleted rows', async () => {
    await using database = await broughtDatabase();
    const options = { connectionOption: 'connectionString', connectionString: database.url };
    await syncs('postgresql', options, () => tick('Sync of contacts'));
  });

  test('to a MariaDB', async ({ skip }) => {
    const found = await findMariaDB();
    if (found.path === null) skip(found.reason);
    await using resources = new AsyncDisposableStack();
    const dir = resources.adopt(await mkdtemp(join(tmpdir(), 'gantry-test-sync-')), (path) =>
      rm(path, { recursive: true, force: true }),
    );
    const { port, user, password } = resources.use(await startMariaDB({ dir }));
    const optionsFor = (database: string) => ({
      connectionOption: 'connectionDetails',
      connectionDetails: { host: 'localhost', port, user, password, database },
    });
    const server = { datasourceTitle: 'Server', datasourceType: 'mysql', datasourceOptions: optionsFor('mysql') };
    const { datasourceID } = (await api().post('T/datasources', server)).body.datasource;
    const query = { datasourceType: 'mysql', dataQueryOptions: { query: 'create database shop' } };
    await api().patch('T/queries/queryTest', { dataQuery: { datasourceID, ...query } });
    const options = optionsFor('shop');
    await syncs('mysql', options, (workflowID) => start(workflowID, {}));
  });
});
