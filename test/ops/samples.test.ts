/** The samples of ops/samples, installed and executed through the public API by the commands that a newcomer is told. */
import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createCall } from '#ops/samples/call.ts';
import { commandsOf } from '#ops/samples/commands.ts';
import { installSample } from '#ops/samples/install.ts';
import { numbered, titleOf } from '#ops/samples/prepare.ts';
import { readSample, Sample, type SampleExample, sampleNames } from '#ops/samples/read.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { aMember, aTenant, type TestTenant, type TestUser } from '../support/factories.ts';
import { type HTTPServer, json, startHTTP } from '../support/http-server.ts';
import { nodeEnvironment } from '../support/process.ts';
import { eventually } from '../support/settle.ts';

const root = join(import.meta.dirname, '../..');
const names = await sampleNames();
const secrets = { webhookSecret: "it's a secret" };

describe.each(names)('%s', (name) => {
  test('is JSON in a stable form, under its own name', async () => {
    const file = await readFile(join(root, `ops/samples/${name}.json`), 'utf8');
    const sample = await readSample(name);

    expect(file).toBe(`${JSON.stringify(sample, null, 2)}\n`);
    expect(sample.name).toBe(name);
  });

  test('has every item behind those that it names, and says which they are', async () => {
    const { items, examples } = await readSample(name);

    for (const [at, { id, payload, dependencies, ...more }] of items.entries()) {
      const text = JSON.stringify([payload, more]);
      const named = items.filter((other) => other.id !== id && text.includes(other.id));
      expect(dependencies).toEqual(named.map((other) => ({ type: other.type, id: other.id })));
      expect(items.slice(0, at)).toEqual(expect.arrayContaining(named));
    }
    expect(items.map(({ id }) => id)).toEqual(expect.arrayContaining(examples.map(({ workflowID }) => workflowID)));
  });

  test('explains itself: words for each input, a title for each step, and what is beside the graph', async () => {
    const { items, examples, title, description } = await readSample(name);
    const workflow = items.find(({ id }) => id === examples[0]?.workflowID);
    if (workflow?.type !== 'workflow') throw new Error('The first example runs a workflow');
    const { workflowNodes, workflowOptions, workflowDescription } = Explained.parse(workflow.payload);

    expect([title, description, workflowDescription].every((text) => text.length > 5)).toBe(true);
    const titles = workflowNodes.map(({ data }) => data.title);
    expect(titles).toEqual([...new Set(titles)]);
    const declared = new Set(workflowOptions.inputDefinitions?.map(({ key }) => key));
    for (const { args } of examples) expect([...declared]).toEqual(expect.arrayContaining(Object.keys(args)));
    if (name !== 'greeting') expect(workflowOptions.canvas?.notes.length).toBeGreaterThan(1);
  });

  test('makes only tables, functions and triggers with names that a second installation can number', async () => {
    const sample = await readSample(name);
    const made = (one: Sample) =>
      one.setup.flatMap(
        (sql) =>
          /^create (?:or replace )?(?:table|index|function|trigger) (?:if not exists )?(\w+)/.exec(sql)?.[1] ?? [],
      );

    expect(made(sample).filter((one) => !one.startsWith('sample_'))).toEqual([]);
    expect(made(numbered(sample, 2, randomUUID))).toEqual(made(sample).map((one) => `${one}_2`));
  });
});

const Explained = z.object({
  workflowDescription: z.string(),
  workflowNodes: z.array(z.object({ data: z.object({ title: z.string() }) })),
  workflowOptions: z.object({
    inputDefinitions: z.array(z.object({ key: z.string() })).optional(),
    canvas: z.object({ notes: z.array(z.object({ text: z.string() })) }).optional(),
  }),
});

test('the second one of a sample shares no key, title, table or variable with the first', async () => {
  const first = await readSample('order-approval');
  const second = numbered(first, 2, randomUUID);

  const keys = (sample: Sample) => sample.items.map(({ id }) => id);
  expect(keys(second).filter((key) => JSON.stringify(first).includes(key))).toEqual([]);
  expect(second.items.map(titleOf)).toEqual(first.items.map((item) => `${titleOf(item)} 2`));
  expect(second.setup[0]).toContain('create table if not exists sample_orders_2 (');
  expect(JSON.stringify(second)).not.toMatch(/sample_orders\b|orderApprovalLimit\b/);
  expect(second.variables).toMatchObject([{ name: 'orderApprovalLimit2', value: 500 }]);
  expect(second.examples[0]?.workflowID).toBe(second.items.at(-1)?.id);
  expect(Sample.safeParse(second).success).toBe(true);
});

test('a second one names the assets that it has brought itself', async () => {
  const text = JSON.stringify(numbered(await readSample('database-sync'), 3, randomUUID));

  expect(text).toContain('The cron job “Sync of contacts 3” starts this');
  expect(text).toContain('execute function sample_contacts_touch_3()');
});

test('a secret is declared without a value', async () => {
  const sample = await readSample('greeting');
  const secret = { name: 'key', isSecret: true, description: 'Of a service' };

  expect(Sample.safeParse({ ...sample, variables: [secret] }).success).toBe(true);
  expect(Sample.safeParse({ ...sample, variables: [{ ...secret, value: 'in clear' }] }).success).toBe(false);
});

let cluster: Cluster;
let tenant: TestTenant;
let second: TestUser;
let rates: HTTPServer;
beforeAll(async () => {
  cluster = await startCluster({ workers: true });
  tenant = await aTenant(cluster);
  second = await aMember(cluster, { tenant, can: ['workflow.execute'] });
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
const colleague = () => cluster.as(second).in(tenant);

async function install(name: string, sample?: Sample) {
  const call = createCall(cluster.baseURL, await cluster.tokenFor(tenant.creator));
  const values: Record<string, string> = name === 'webhook-enrichment' ? { ratesURL: `${rates.origin}/v1` } : {};
  const { ids } = await installSample(call, sample ?? (await readSample(name)), {
    tenantID: tenant.id,
    values,
    secrets,
  });
  return ids;
}

/** Executes an example, and answers the questions of its run. */
async function execute(ids: ReadonlyMap<string, string>, { workflowID, args, answers = [] }: SampleExample) {
  const wait = answers.length === 0 ? '?wait=30' : '';
  const { body, status } = await api().post(`T/workflows/${ids.get(workflowID)}/execute${wait}`, { args });
  expect(status).toBe(200);
  for (const submittedData of answers) {
    const requestID = await asked(body.instanceID);
    // Some questions another person than the one who started the run must answer.
    const answer = await colleague().post(`T/workflows/data-collection/${requestID}/submit`, { submittedData });
    expect(answer).toMatchObject({ status: 200 });
  }
  const read = async () => (await api().get(`T/workflows/instances/${body.instanceID}`)).body;
  await eventually(async () => expect(['COMPLETED', 'FAILED']).toContain((await read()).status), 30_000);
  return read();
}

async function asked(instanceID: string): Promise<string> {
  let found = '';
  await eventually(async () => {
    const { requests } = (await colleague().get('T/workflows/data-collection?status=PENDING')).body;
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

/** The others have what these need in a file of their own. */
describe.each(['greeting', 'order-approval', 'nightly-import', 'webhook-enrichment'])('%s, installed', (name) => {
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

test('a delivery to the webhook of an installed sample, signed by the printed command, stores its order', async () => {
  const sample = await readSample('webhook-enrichment');
  const ids = await install('webhook-enrichment');
  const [example = expect.fail('The sample has an example')] = sample.examples;
  const order = { orderID: 'D-1', customer: "o'hara@example.com", currency: 'USD', total: 120 };
  const delivered = { ...sample, examples: [{ ...example, args: order }] };
  const context = { baseURL: cluster.baseURL, tenantID: tenant.id, ids, secrets, signsTokens: false };
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
    { args: ['other'], says: 'There is no sample "other". The samples are ai-triage, ' },
    { args: ['greeting', '--tenant', 'x'], says: '--tenant: expected the id of a tenant, received "x"' },
    {
      args: ['greeting', '--set', 'a=1'],
      says: '--set: expected a variable of the sample, as name=value, received "a"',
    },
    {
      args: ['database-sync'],
      says: 'The sample database-sync needs a datasource of the type postgresql or mysql: --use other=<id>',
    },
    {
      args: ['database-sync', '--use', 'other=x'],
      says: '--use: expected a need of the sample and the id of a datasource, as name=id, received "other=x"',
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
