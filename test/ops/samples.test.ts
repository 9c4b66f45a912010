/** The samples of ops/samples, installed and executed through the public API by the commands that a newcomer is told. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createCall } from '#ops/samples/call.ts';
import { commandsOf } from '#ops/samples/commands.ts';
import { installSample } from '#ops/samples/install.ts';
import { readSample, Sample, type SampleExample, sampleNames } from '#ops/samples/read.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { aTenant, type TestTenant } from '../support/factories.ts';
import { type HTTPServer, json, startHTTP } from '../support/http-server.ts';
import { nodeEnvironment } from '../support/process.ts';
import { eventually } from '../support/settle.ts';

const root = join(import.meta.dirname, '../..');
const names = await sampleNames();

describe.each(names)('%s', (name) => {
  test('is JSON in a stable form, under its own name', async () => {
    const file = await readFile(join(root, `ops/samples/${name}.json`), 'utf8');
    const sample = await readSample(name);

    expect(file).toBe(`${JSON.stringify(sample, null, 2)}\n`);
    expect(sample.name).toBe(name);
  });

  test('has every item behind those that it names, and says which they are', async () => {
    const { items, examples } = await readSample(name);

    for (const [at, { id, payload, dependencies }] of items.entries()) {
      const text = JSON.stringify(payload);
      const named = items.filter((other) => other.id !== id && text.includes(other.id));
      expect(dependencies).toEqual(named.map((other) => ({ type: other.type, id: other.id })));
      expect(items.slice(0, at)).toEqual(expect.arrayContaining(named));
    }
    expect(items.map(({ id }) => id)).toEqual(expect.arrayContaining(examples.map(({ workflowID }) => workflowID)));
  });
});

test('a secret is declared without a value', async () => {
  const sample = await readSample('greeting');
  const secret = { name: 'key', isSecret: true, description: 'Of a service' };

  expect(Sample.safeParse({ ...sample, variables: [secret] }).success).toBe(true);
  expect(Sample.safeParse({ ...sample, variables: [{ ...secret, value: 'in clear' }] }).success).toBe(false);
});

let cluster: Cluster;
let tenant: TestTenant;
let rates: HTTPServer;
beforeAll(async () => {
  cluster = await startCluster({ workers: true });
  tenant = await aTenant(cluster);
  rates = await startHTTP(({ url }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://rates');
    const isKnown =
      pathname === '/v1/latest' && searchParams.get('symbols') === 'EUR' && searchParams.get('base') === 'USD';
    json(response, isKnown ? { base: 'USD', rates: { EUR: 0.9 } } : { message: 'not found' }, isKnown ? 200 : 404);
  });
});
afterAll(async () => {
  await rates[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

const api = () => cluster.as(tenant.creator).in(tenant);

async function install(name: string, sample?: Sample) {
  const call = createCall(cluster.baseURL, await cluster.tokenFor(tenant.creator));
  const values: Record<string, string> = name === 'webhook-enrichment' ? { ratesURL: `${rates.origin}/v1` } : {};
  return installSample(call, sample ?? (await readSample(name)), { tenantID: tenant.id, values });
}

/** Executes an example, and answers the questions of its run. */
async function execute(ids: ReadonlyMap<string, string>, { workflowID, args, answers = [] }: SampleExample) {
  const wait = answers.length === 0 ? '?wait=30' : '';
  const { body, status } = await api().post(`T/workflows/${ids.get(workflowID)}/execute${wait}`, { args });
  expect(status).toBe(200);
  for (const submittedData of answers) {
    const requestID = await asked(body.instanceID);
    const answer = await api().post(`T/workflows/data-collection/${requestID}/submit`, { submittedData });
    expect(answer).toMatchObject({ status: 200 });
  }
  const read = async () => (await api().get(`T/workflows/instances/${body.instanceID}`)).body;
  await eventually(async () => expect(['COMPLETED', 'FAILED']).toContain((await read()).status), 30_000);
  return read();
}

async function asked(instanceID: string): Promise<string> {
  let found = '';
  await eventually(async () => {
    const { requests } = (await api().get('T/workflows/data-collection?status=PENDING')).body;
    const own = requests.find((request: { instanceID: string }) => request.instanceID === instanceID);
    found = own?.collectionRequestID ?? expect.fail('nothing is asked');
  }, 30_000);
  return found;
}

async function rows(sql: string): Promise<unknown[]> {
  const { status, body } = await api().post('T/database/execute-raw-sql', { sql });
  expect(status).toBe(200);
  return body.result;
}

/** The titles of the tenant's assets, each as often as it occurs. */
async function titles(): Promise<string[]> {
  const of = async (path: string, many: string, title: string) => {
    const { body } = await api().get(`T/${path}`);
    return body[many].map((asset: Record<string, string>) => asset[title]);
  };
  const found = await Promise.all([
    of('workflows', 'workflows', 'title'),
    of('queries', 'dataQueries', 'dataQueryTitle'),
    of('datasources', 'datasources', 'datasourceTitle'),
    of('datasources/files', 'files', 'fileName'),
    of('cronjobs', 'cronJobs', 'cronJobTitle'),
    of('listeners', 'listeners', 'listenerTitle'),
  ]);
  return found.flat().sort();
}

describe.each(names)('%s, installed', (name) => {
  test('gives what its examples say, also when it is installed again', async () => {
    const { examples } = await readSample(name);
    const first = await install(name);
    const before = await titles();

    const second = await install(name);
    for (const example of examples) {
      const { status, output, error } = await execute(second, example);
      expect({ status, error }, example.title).toEqual({ status: example.status, error: null });
      if (example.output) expect(output, example.title).toEqual(example.output);
    }

    expect([...second]).toEqual([...first]);
    expect(await titles()).toEqual(before);
  });
});

test('the order approval stores each decision, and reminds the person who has not answered', async () => {
  const sample = await readSample('order-approval');
  const soon = (_key: string, value: unknown) =>
    _key === 'reminders' ? [{ minutes: 0.02 }, { minutes: 1, from: 'expiry' }] : value;
  const ids = await install('order-approval', Sample.parse(JSON.parse(JSON.stringify(sample), soon)));
  const [small, large] = sample.examples;
  if (!small || !large) throw new Error('The sample has two examples');
  await execute(ids, { ...small, args: { ...small.args, orderID: 'R-1' } });
  const { body } = await api().post(`T/workflows/${ids.get(large.workflowID)}/execute`, {
    args: { ...large.args, orderID: 'R-2' },
  });
  await asked(body.instanceID);

  const read = async () => (await api().get(`T/workflows/instances/${body.instanceID}`)).body;
  const remindersOf = async () =>
    (await read()).timeline.flatMap(({ reminder }: { reminder?: object }) => reminder ?? []);
  await eventually(async () => expect(await remindersOf()).toMatchObject([{ number: 1, of: 2 }]), 30_000);

  expect(
    await rows(`select order_id, status, carrier from sample_orders where order_id like 'R-%' order by 1`),
  ).toEqual([
    { order_id: 'R-1', status: 'approved', carrier: 'standard' },
    { order_id: 'R-2', status: 'received', carrier: null },
  ]);
  await api().delete(`T/workflows/instances/${body.instanceID}/stop`);
});

test('the nightly import saves the good rows, twice without doubles, and reports the others', async () => {
  const sample = await readSample('nightly-import');
  const ids = await install('nightly-import');
  const [example] = sample.examples;
  if (!example) throw new Error('The sample has an example');
  const [{ n: before }] = (await rows('select count(*)::int as n from sample_import_reports')) as [{ n: number }];

  const run = await execute(ids, example);
  await execute(ids, example);

  expect(await rows('select customer_id::int, email from sample_customers order by 1')).toEqual([
    { customer_id: 1001, email: 'ada@example.com' },
    { customer_id: 1002, email: 'grace@example.com' },
    { customer_id: 1005, email: 'katherine@example.com' },
  ]);
  expect(await rows(`select imported, failed, errors from sample_import_reports order by id offset ${before}`)).toEqual(
    [example.output, example.output],
  );
  expect(run.maps).toMatchObject([{ done: 6, total: 6, failed: 3 }]);
  const { lines } = (await api().get(`T/workflows/instances/${run.instanceID ?? run.id}/logs?nodeID=note&level=info`))
    .body;
  expect(lines.map(({ message }: { message: string }) => message)).toContain('3 imported, 3 refused');
});

test('the nightly import has a schedule, which stays as the tenant has changed it', async () => {
  await install('nightly-import');
  const read = async () => (await api().get('T/cronjobs?search=Nightly')).body.cronJobs;
  const [job] = await read();
  expect(job).toMatchObject({
    cronJobSchedule: '0 2 * * *',
    cronJobEnabled: true,
    nextRunAt: expect.stringMatching(/T02:00:00/),
  });
  await api().patch(`T/cronjobs/${job.id}`, { cronJobSchedule: '30 4 * * *' });

  await install('nightly-import');

  expect(await read()).toMatchObject([{ id: job.id, cronJobSchedule: '30 4 * * *' }]);
});

test('the webhook order is stored with its total in euros; without the service it is stored all the same', async () => {
  const ids = await install('webhook-enrichment');
  const { examples } = await readSample('webhook-enrichment');
  const [example] = examples;
  if (!example) throw new Error('The sample has an example');
  const order = async (orderID: string, currency: string) =>
    (await execute(ids, { ...example, args: { orderID, customer: 'grace@example.com', currency, total: 120 } })).status;

  expect(await order('T-1', 'USD')).toBe('COMPLETED');
  expect(await order('T-1', 'USD')).toBe('COMPLETED');
  expect(await order('T-2', 'EUR')).toBe('COMPLETED');
  expect(await order('T-3', 'XXX')).toBe('COMPLETED');

  expect(
    await rows(
      `select order_id, currency, rate::float8, total_eur::float8 from sample_webhook_orders where order_id like 'T-%' order by 1`,
    ),
  ).toEqual([
    { order_id: 'T-1', currency: 'USD', rate: 0.9, total_eur: 108 },
    { order_id: 'T-2', currency: 'EUR', rate: 1, total_eur: 120 },
    { order_id: 'T-3', currency: 'XXX', rate: null, total_eur: null },
  ]);
  expect(rates.seen.some(({ url }) => url.includes('base=EUR'))).toBe(false);
});

test('the printed commands of the order approval, pasted at once, answer each question of their own run', async () => {
  const sample = await readSample('order-approval');
  const ids = await install('order-approval');
  const [, large = expect.fail('The sample has a large order')] = sample.examples;
  await api().post(`T/workflows/${ids.get(large.workflowID)}/execute`, { args: { ...large.args, orderID: 'P-0' } });
  const pasted = { ...sample, examples: [{ ...large, args: { ...large.args, orderID: 'P-1' } }] };
  const context = { baseURL: cluster.baseURL, tenantID: tenant.id, ids, signsTokens: false };
  const commands = commandsOf(pasted, context).join('\n');

  await promisify(execFile)('sh', ['-c', commands], {
    env: { ...process.env, TOKEN: await cluster.tokenFor(tenant.creator) },
  });

  await eventually(async () =>
    expect(await rows(`select order_id, status from sample_orders where order_id like 'P-%' order by 1`)).toEqual([
      { order_id: 'P-0', status: 'received' },
      { order_id: 'P-1', status: 'approved' },
    ]),
  );
});

test('a delivery to the webhook of an installed sample, by the printed command, stores its order', async () => {
  const sample = await readSample('webhook-enrichment');
  const ids = await install('webhook-enrichment');
  const [example = expect.fail('The sample has an example')] = sample.examples;
  const order = { orderID: 'D-1', customer: "o'hara@example.com", currency: 'USD', total: 120 };
  const delivered = { ...sample, examples: [{ ...example, args: order }] };
  const context = { baseURL: cluster.baseURL, tenantID: tenant.id, ids, signsTokens: false };
  const command = commandsOf(delivered, context).at(-1) ?? '';

  const answer = JSON.parse((await promisify(execFile)('sh', ['-c', command])).stdout);

  expect(answer).toMatchObject({ success: true });
  await eventually(async () =>
    expect(
      await rows(`select customer, rate::float8, total_eur::float8 from sample_webhook_orders where order_id = 'D-1'`),
    ).toEqual([{ customer: order.customer, rate: 0.9, total_eur: 108 }]),
  );
  const { instances } = (await api().get('T/workflows/instances?origin=listener')).body;
  expect(instances).toMatchObject([{ status: 'COMPLETED' }]);
});

test('a secret that no value is given for is asked for, and nothing is installed', async () => {
  const sample = await readSample('greeting');
  const secret = { name: 'serviceKey', isSecret: true as const, description: 'The key of the service' };
  const renamed = { ...sample, name: 'other', variables: [secret] };

  await expect(install('other', { ...renamed, items: [] })).rejects.toThrow(
    'The sample other needs a value for the secret serviceKey (The key of the service)',
  );
  expect((await api().get('T/variables?search=serviceKey')).body.variables).toEqual([]);
});

describe('npm run sample', () => {
  async function run(args: string[], env: Record<string, string> = {}) {
    const { HOME = '' } = process.env;
    const child = spawn(process.execPath, ['ops/sample.ts', ...args], {
      cwd: root,
      env: nodeEnvironment({ HOME, ...env }),
    });
    const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    return { out, err, code };
  }

  test('lists the samples', async () => {
    const { out, code } = await run([]);

    expect(code).toBe(0);
    for (const name of names) expect(out).toMatch(new RegExp(`^  ${name} +\\w`, 'm'));
  });

  test('installs one, and a shell that follows the printed commands gets the result', async () => {
    const { out, err, code } = await run([
      'order-approval',
      '--url',
      cluster.baseURL,
      '--set',
      'orderApprovalLimit=1000',
    ]);
    expect({ err, code }).toEqual({ err: '', code: 0 });
    const [first = '', second = ''] = out
      .slice(out.indexOf('TOKEN='))
      .split(/\n\n# .+\n/)
      .slice(1);
    const token = /^TOKEN=.+$/m.exec(out)?.[0] ?? '';
    const shell = async (script: string) => (await promisify(execFile)('sh', ['-c', script])).stdout;

    expect(JSON.parse(await shell(`${token}\n${first}`))).toMatchObject({
      status: 'COMPLETED',
      output: { decision: 'approved' },
    });
    const instanceID = (await shell(`${token}\n${second}\necho; echo "$RUN"`)).trim().split('\n').at(-1);
    const tenantID = /in the tenant (\S+)\./.exec(out)?.[1] ?? '';
    const reader = cluster.as({ email: 'you@example.com' }).in({ id: tenantID });
    const output = { orderID: 'A-2', decision: 'approved', carrier: 'express' };
    await eventually(async () =>
      expect((await reader.get(`T/workflows/instances/${instanceID}`)).body).toMatchObject({
        status: 'COMPLETED',
        output,
      }),
    );
  });

  test.each([
    { args: ['other'], says: 'There is no sample "other". The samples are greeting, ' },
    { args: ['greeting', '--tenant', 'x'], says: '--tenant: expected the id of a tenant, received "x"' },
    {
      args: ['greeting', '--set', 'a=1'],
      says: '--set: expected a variable of the sample, as name=value, received "a"',
    },
    {
      args: ['greeting', '--url', 'http://127.0.0.1:9'],
      says: 'No Gantry answers at http://127.0.0.1:9. Start one with "npm start"',
    },
  ])('says what is wrong with $args', async ({ args, says }) => {
    const { err, code } = await run(args);

    expect(code).toBe(1);
    expect(err).toContain(says);
  });
});
