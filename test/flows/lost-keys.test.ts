import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startApi } from '#api/app/listen.ts';
import { newID } from '#shared/core/ids.ts';
import { createKeyRing, fingerprintOf } from '#shared/core/key-ring.ts';
import { MASK } from '#shared/core/schema/secret.ts';
import { pageContext, readResultPage } from '#shared/datasources/result-pages.ts';
import { readConfig } from '#shared/process/config.ts';
import { createQueryCache } from '#workers/datasources/queries/cache.ts';
import { startAIProvider } from '../servers/ai-provider.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { testLogger } from '../support/environment.ts';
import {
  aDatasource,
  aListener,
  anOAuthConnection,
  aTenant,
  chain,
  type TestTenant,
  type TestWorkflow,
} from '../support/factories.ts';
import { type HTTPServer, startHTTP } from '../support/http-server.ts';
import { nodeEnvironment } from '../support/process.ts';
import { eventually } from '../support/settle.ts';

/** Another key under the id of the cluster's: what is left of an installation whose key was replaced. */
const lostKey = { id: 'test', key: randomBytes(32) };
const lost = createKeyRing([lostKey]);
const NOT_HERE = 'another key than the "test" that is here';

let cluster: Cluster;
let receiver: HTTPServer;
let tenant: TestTenant;
const resources = new AsyncDisposableStack();
beforeAll(async () => {
  const provider = await startAIProvider();
  resources.defer(() => provider[Symbol.asyncDispose]());
  const workers = ['workflow.runs', 'datasource.tests', 'tenant.database', 'ai.calls'] as const;
  cluster = resources.use(await startCluster({ workers, settings: provider.settings }));
  receiver = resources.use(await startHTTP((_request, response) => void response.writeHead(204).end()));
});
beforeEach(async () => {
  tenant = await aTenant(cluster);
});
afterAll(() => resources.disposeAsync());

const api = () => cluster.as(tenant.creator).in(tenant);

/** Seals with the lost key what the factories make. */
const before = () => ({
  ...cluster,
  context: { ...cluster.context, secrets: { ...cluster.context.secrets, ...lost } },
});

async function loseSecret(table: string, column: string, seal: (id: string) => string): Promise<void> {
  const { rows } = await cluster.pool.query<{ id: string }>(`select id from ${table} where tenant_id = $1`, [
    tenant.id,
  ]);
  for (const { id } of rows)
    await cluster.pool.query(`update ${table} set ${column} = $2 where id = $1`, [id, seal(id)]);
}

/** The answer of `/ready` of a process that starts now. */
async function readyAt(SECRETS_KEYS = cluster.env.SECRETS_KEYS ?? '') {
  await using started = await startApi({
    config: readConfig({ ...cluster.env, SECRETS_KEYS }),
    logger: testLogger,
  });
  const response = await fetch(`http://127.0.0.1:${started.port}/ready`);
  return { code: response.status, ...((await response.json()) as { status: string; checks: { secrets: string } }) };
}

test('a datasource says which secrets are lost, cannot be used or copied, and takes new ones', async () => {
  const options = {
    baseUrl: receiver.origin,
    bearerToken: 'the lost one',
    headers: [{ key: 'x-key', value: 'lost, too' }],
  };
  const { id } = await aDatasource(before(), { tenant, type: 'restapi', options });

  const shown = await api().get(`T/datasources/${id}`);
  expect(shown.body.datasource.unreadableSecrets.toSorted()).toEqual(['bearerToken', 'headers.0.value']);
  for (const path of [`T/datasources/${id}/test`, `T/datasources/${id}/clone`])
    expect(await api().post(path), path).toMatchObject({
      status: 409,
      body: { error: { code: 'CONFLICT', message: expect.stringContaining(NOT_HERE), details: { keyID: 'test' } } },
    });
  expect((await api().patch(`T/datasources/${id}`, { datasourceTitle: 'Renamed' })).status).toBe(200);

  const masked = { ...options, bearerToken: MASK };
  const refused = await api().patch(`T/datasources/${id}`, { datasourceOptions: masked });
  expect(refused.body.error.message).toBe(
    'datasourceOptions.bearerToken: is the mask of a stored secret, but that one was sealed with a key that is not here: send the secret itself',
  );
  const given = { datasourceType: 'restapi', datasourceID: id, datasourceOptions: { ...options, bearerToken: 'new' } };
  expect((await api().post('T/datasources/test', given)).status).toBe(200);
  const saved = await api().patch(`T/datasources/${id}`, { datasourceOptions: given.datasourceOptions });
  expect(saved).toMatchObject({ status: 200, body: { datasource: { unreadableSecrets: [] } } });
  expect((await api().post(`T/datasources/${id}/test`)).status).toBe(200);
});

test('an import of a bundle lists a lost secret as missing, and brings another', async () => {
  const options = { baseUrl: receiver.origin, bearerToken: 'the lost one' };
  const { id } = await aDatasource(before(), { tenant, type: 'restapi', options });
  await api().post('T/variables', { name: 'token', value: 'the lost one', isSecret: true });
  await loseSecret('tenant_variable', 'secret', (row) => lost.seal('the lost one', `tenant_variable:${row}:secret`));
  const { bundle } = (await api().post('T/export', {})).body;

  const { body: plan } = await api().post('T/import/preview', { bundle });
  expect(plan.items.map(({ type, missingSecrets }: Record<string, unknown>) => [type, missingSecrets])).toEqual([
    ['variable', [['value']]],
    ['datasource', [['datasourceOptions', 'bearerToken']]],
  ]);
  const secrets = [{ id, path: ['datasourceOptions', 'bearerToken'], value: 'a new one' }];
  expect((await api().post('T/import/execute', { bundle, secrets })).status).toBe(201);
  const after = await api().get(`T/datasources/${id}`);
  expect(after.body.datasource.unreadableSecrets).toEqual([]);
});

test('a secret variable says that it is lost, fails what names it, and takes a new value', async () => {
  await api().post('T/variables', {
    name: 'hook',
    value: `whsec_${Buffer.alloc(32, 9).toString('base64')}`,
    isSecret: true,
  });
  const completionWebhook = { url: `${receiver.origin}/told`, secret: 'hook' };
  const { workflow } = (
    await api().post('T/workflows', { title: 'Told', ...chain({}, {}), workflowOptions: { completionWebhook } })
  ).body as { workflow: TestWorkflow };
  await loseSecret('tenant_variable', 'secret', (id) => lost.seal('whsec_', `tenant_variable:${id}:secret`));

  const { body: list } = await api().get('T/variables');
  expect(list.variables).toMatchObject([{ name: 'hook', value: MASK, isReadable: false }]);
  const { body: run } = await api().post(`T/workflows/${workflow.id}/execute?wait=30`, {});
  const deliveries = async () =>
    (await api().get(`T/workflows/instances/${run.instanceID}/deliveries`)).body.deliveries;
  await eventually(async () =>
    expect(await deliveries()).toMatchObject([
      { attempts: [{ status: null, error: expect.stringContaining(`The secret variable "hook" cannot be opened`) }] },
    ]),
  );
  const value = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
  const saved = await api().patch(`T/variables/${list.variables[0].id}`, { value });
  expect(saved.body.variable).toMatchObject({ isReadable: true });
  const [{ deliveryID }] = await deliveries();
  await api().post(`T/workflows/deliveries/${deliveryID}/redeliver`, {});
  await eventually(async () => expect(await deliveries()).toMatchObject([{ status: 'DELIVERED' }]));
});

test('a lost key of a language model is reported, kept by other changes, and replaced', async () => {
  const own = { provider: 'openai-compatible', baseURL: `${receiver.origin}/v1`, model: 'own' };
  await api().post('T/ai-config', { ...own, apiKey: 'the lost one' });
  await loseSecret('ai_config', 'api_key', (id) => lost.seal('the lost one', `ai_config:${id}:apiKey`));

  expect((await api().get('T/ai-config')).body.aiConfig).toMatchObject({ apiKey: MASK, isKeyReadable: false });
  const tested = await api().post('T/ai-config/test');
  expect(tested).toMatchObject({ status: 409, body: { error: { message: expect.stringContaining(NOT_HERE) } } });
  expect((await api().patch('T/ai-config', { maxCalls: 2 })).body.aiConfig).toMatchObject({ isKeyReadable: false });
  expect(await api().patch('T/ai-config', { model: 'next' })).toMatchObject({
    status: 400,
    body: {
      error: { message: expect.stringMatching(/^apiKey: is the mask of a stored secret, but that one was sealed/) },
    },
  });
  const saved = await api().patch('T/ai-config', { apiKey: 'a new one' });
  expect(saved.body.aiConfig).toMatchObject({ model: 'own', maxCalls: 2, isKeyReadable: true });
});

test('an OAuth connection whose tokens are lost must be connected again, and is not taken for ended', async () => {
  const { id } = await anOAuthConnection(before(), { tenant });
  const options = { baseUrl: receiver.origin, authType: 'oauthConnection', oauthConnectionID: id };
  const datasource = await aDatasource(cluster, { tenant, type: 'restapi', options });

  const tested = await api().post(`T/datasources/${datasource.id}/test`);

  expect(tested).toMatchObject({
    status: 409,
    body: { error: { message: expect.stringContaining('The OAuth connection to acme cannot be opened') } },
  });
  expect((await api().get(`T/oauth-connections/${id}`)).body.oauthConnection.status).toBe('connected');
});

test('the owner of a database whose password is lost gets another, once for all who ask at once', async () => {
  const sql = (text: string) => api().post('T/database/execute-raw-sql', { sql: text });
  expect((await sql('create table kept (n int); insert into kept values (7)')).status).toBe(200);
  await loseSecret('tenant_database', 'password', (id) => lost.seal('lost', `tenant_database:${id}:password`));
  // As after a restart: no connection is left.
  await using _other = await cluster.startWorker({}, ['tenant.database']);

  const read = await Promise.all(Array.from({ length: 8 }, () => sql('select n from kept')));

  expect(read.map(({ status, body }) => [status, JSON.stringify(body).includes('7')])).toEqual(
    Array.from({ length: 8 }, () => [200, true]),
  );
  const { rows } = await cluster.pool.query<{ id: string; password: string }>(
    'select id, password from tenant_database where tenant_id = $1',
    [tenant.id],
  );
  expect(
    rows.map(({ id, password }) => cluster.context.secrets.canOpen(password, `tenant_database:${id}:password`)),
  ).toEqual([true]);
});

test('a webhook whose secret is lost asks its sender to come again', async () => {
  const options = { authType: 'header', authSecret: 'the lost one' };
  const { id } = await aListener(before(), { tenant, options });
  const response = await fetch(`${cluster.baseURL}/webhooks/v1/inbound/${id}`, { method: 'POST', body: '{}' });

  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '60']);
  expect(await response.json()).toMatchObject({
    error: { message: expect.stringContaining('was sealed with a key that is not here') },
  });
});

test('a cached answer that no key opens is queried again, and a kept page of one counts as expired', async () => {
  const { pool, context } = cluster;
  const key = randomBytes(32).toString('hex');
  const needs = { pool, logger: testLogger };
  await createQueryCache({ ...needs, secrets: lost }).write(key, tenant.id, { data: [1] } as never, 60);
  expect(await createQueryCache({ ...needs, secrets: lost }).read(key)).toEqual({ data: [1] });
  expect(await createQueryCache({ ...needs, secrets: context.secrets }).read(key)).toBeUndefined();

  const [resultID, source, callerID] = [newID(), 'dataquery:1', newID()];
  await pool.query(
    `insert into result_page (result_id, page, tenant_id, source, caller_id, sealed, expires_at)
     values ($1, 2, $2, $3, $4, $5, now() + interval '1 minute')`,
    [resultID, tenant.id, source, callerID, lost.seal('[1]', pageContext(resultID, 2))],
  );
  const page = readResultPage(context, { tenantID: tenant.id, source, callerID }, { resultID, page: 2 });
  await expect(page).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

/** Counts by kind in the sentence of `/ready`. */
function countsIn(text: string): Record<string, number> {
  return Object.fromEntries(
    [...text.matchAll(/([A-Za-z ]+): (\d+)/g)].map(([, kind = '', count]) => [kind.trim(), Number(count)]),
  );
}

test('a process counts what it cannot open at its start, and is degraded, not dead', async () => {
  const lostBefore = countsIn((await readyAt()).checks.secrets);
  const { id } = await aDatasource(before(), {
    tenant,
    type: 'restapi',
    options: { baseUrl: receiver.origin, bearerToken: 'lost' },
  });
  await aDatasource(cluster, { tenant });

  const ready = await readyAt();
  expect(ready).toMatchObject({ code: 200, success: true, status: 'degraded', checks: { postgres: 'ok' } });
  expect(countsIn(ready.checks.secrets)).toEqual({
    ...lostBefore,
    datasource: (lostBefore.datasource ?? 0) + 1,
  });

  const args = ['ops/rotate-secrets.ts', '--report'];
  const { stdout, code } = (await promisify(execFile)(process.execPath, args, {
    env: nodeEnvironment(cluster.env),
  }).catch((error: { stdout: string; code: number }) => error)) as { stdout: string; code?: number };
  expect(code).toBe(1);
  expect(stdout).toContain(`datasource ${id} bearerToken, tenant ${tenant.id}: sealed with the key test`);
});

test('a key under the id of another seals under its fingerprint, and says that the other is not here', async () => {
  const options = { baseUrl: receiver.origin, bearerToken: 'a token' };
  const { id } = await aDatasource(cluster, { tenant, type: 'restapi', options });
  const SECRETS_KEYS = `test:${lostKey.key.toString('base64')}`;
  await using other = await startApi({ config: readConfig({ ...cluster.env, SECRETS_KEYS }), logger: testLogger });
  const theirs = cluster.as(tenant.creator, { baseURL: `http://127.0.0.1:${other.port}` }).in(tenant);

  const cloned = await theirs.post(`T/datasources/${id}/clone`);
  expect(cloned).toMatchObject({
    status: 409,
    body: {
      error: {
        message:
          'The secret "bearerToken" was sealed with a key that is not here ("test"). Save it again, or put its key back (SECRETS_KEYS)',
      },
    },
  });
  // Its requests are for workers with the same keys.
  expect(await theirs.post(`T/datasources/${id}/test`)).toMatchObject({
    status: 500,
    body: { error: { message: expect.stringContaining('set SECRETS_KEYS the same for all') } },
  });
  const saved = await theirs.post('T/variables', { name: 'sealedByOther', value: 'a secret', isSecret: true });
  const { rows } = await cluster.pool.query<{ secret: string }>('select secret from tenant_variable where id = $1', [
    saved.body.variable.id,
  ]);
  expect(rows[0]?.secret).toMatch(new RegExp(`^gs1\\.${fingerprintOf(lostKey.key)}\\.`));
});
