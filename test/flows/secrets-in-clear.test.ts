import { openSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { type Board, startBoard } from '#ops/board.ts';
import { newID } from '#shared/core/ids.ts';
import { createLogger } from '#shared/core/logger.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import { queues } from '#shared/messaging/queues/index.ts';
import { readConfig } from '#shared/process/config.ts';
import { redisURL } from '../support/backplane.ts';
import { createBrowser } from '../support/browser.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { onServer } from '../support/database.ts';
import { allQueues } from '../support/deployment.ts';
import { publicURL, testServers } from '../support/environment.ts';
import { aTenant, type TestTenant } from '../support/factories.ts';
import { startHTTP } from '../support/http-server.ts';
import { connecting, type OidcProvider, startOidcProvider } from '../support/oidc-provider.ts';
import { eventually } from '../support/settle.ts';

/** Creates, tests and uses secrets, and searches every stored and logged byte for them. */
const tail = newID().replaceAll('-', '');
const secrets = {
  /** The password of an existing role. */
  password: `password-${tail}`,
  wrong: `wrong-${tail}`,
  /** The secret of an API, which repeats it in its error. */
  bearer: `bearer-${tail}`,
  /** Input and result of a query, which belong to the tenant. */
  value: `value-${tail}`,
};

test('no secret is ever in clear in the database, the backplane or a log', async () => {
  await using resources = new AsyncDisposableStack();
  const dir = resources.adopt(await mkdtemp(join(tmpdir(), 'gantry-logs-')), (path) => rm(path, { recursive: true }));
  // Never closed: a line logged late would go into the file or connection that has the number next.
  const log = openSync(join(dir, 'log'), 'a');
  const server = { url: testServers.datasourceURL };
  await onServer(`create role app_${tail} login password '${secrets.password}'`, server);
  resources.defer(async () => void (await onServer(`drop role app_${tail}`, server)));
  const logger = createLogger({ level: 'trace' }, {}, log);
  const provider = resources.use(await startOidcProvider());
  const acme = {
    authorizationURL: `${provider.issuer}/auth`,
    tokenURL: `${provider.issuer}/token`,
    ...connecting,
    issuer: provider.issuer,
    scopes: ['openid'],
  };
  const settings = { OAUTH_PROVIDERS: JSON.stringify({ acme }) };
  const cluster = resources.use(await startCluster({ workers: false, logger, settings }));
  const tenant = await aTenant(cluster);
  const api = cluster.as(tenant.creator).in(tenant);
  const url = new URL(testServers.datasourceURL);
  const options = (password: string) => ({
    connectionOption: 'connectionDetails',
    connectionDetails: {
      host: url.hostname,
      port: Number(url.port),
      database: url.pathname.slice(1),
      user: `app_${tail}`,
      password,
      sslMode: 'disable',
    },
  });
  const body = { datasourceTitle: 'Shop', datasourceType: 'postgresql', datasourceOptions: options(secrets.password) };
  const answers: unknown[] = [];
  const note = <T extends { body: unknown }>(answer: T): T => {
    answers.push(answer.body);
    return answer;
  };

  const { id } = note(await api.post('T/datasources', body, { 'Idempotency-Key': 'k' })).body.datasource;
  const query = {
    dataQueryTitle: 'Echo',
    datasourceID: id,
    dataQueryOptions: { query: 'select {{inputs.value}}::text as value', cacheSeconds: 600 },
  };
  const queryID = note(await api.post('T/queries', query)).body.dataQuery.id;
  const inPages = {
    dataQueryTitle: 'Pages',
    datasourceID: id,
    dataQueryOptions: { query: 'select {{inputs.value}}::text as value from generate_series(1, 3)', rowsPerPage: 1 },
  };
  const pagedID = note(await api.post('T/queries', inPages)).body.dataQuery.id;
  await using refusing = await startHTTP(({ headers }, response) => {
    response.writeHead(401, { 'content-type': 'text/plain' }).end(`no ${headers.authorization}`);
  });
  const rest = {
    datasourceTitle: 'API',
    datasourceType: 'restapi',
    datasourceOptions: { baseUrl: refusing.origin, authType: 'bearer', bearerToken: secrets.bearer },
  };
  const restID = note(await api.post('T/datasources', rest)).body.datasource.id;
  const restQuery = { dataQueryTitle: 'Get', datasourceID: restID, dataQueryOptions: { apiEndpoint: '/x' } };
  const restQueryID = note(await api.post('T/queries', restQuery)).body.dataQuery.id;
  const database = new URL(url);
  database.username = `app_${tail}`;
  database.password = secrets.password;
  const { key } = (await api.post('T/apikeys', { apiKeyName: 'K', apiKeyPermissions: ['workflow.list'] })).body.apiKey;
  expect(key).toMatch(/^[0-9a-f]{64}$/);
  const wrong = { datasourceType: 'postgresql', datasourceOptions: options(secrets.wrong) };
  // There are no workers yet, so the waiting questions can be read.
  const asked = Promise.all([
    api.post('T/datasources/test', { ...wrong, datasourceOptions: options(secrets.password) }),
    api.post('T/datasources/test', wrong),
    api.post(`T/datasources/${id}/test`),
    api.post(`T/queries/${queryID}/run`, { args: { value: secrets.value } }, { 'Idempotency-Key': 'k' }),
    api.post(`T/queries/${pagedID}/run`, { args: { value: secrets.value } }),
    api.post(`T/queries/${restQueryID}/run`),
    cluster.as(tenant.creator).post('/api/v1/tenants', { tenantTitle: 'Other', tenantDBURL: database.href }),
    api.patch('T/queries/queryTest', { dataQuery: query, args: { value: secrets.value } }),
  ]);
  await eventually(async () => expect((await dump(cluster)).match(/gs1\./g)?.length).toBeGreaterThan(5));
  const board = resources.use(
    await startBoard({
      config: readConfig({ ...cluster.env, BOARD_PORT: '0', BOARD_OPEN_ON_LOOPBACK: 'true' }),
      logger,
    }),
  );
  const waiting = [await dump(cluster), await readBoard(board)];
  expect(waiting[1]).toContain('query.runs');
  await cluster.startWorker({}, allQueues);
  const account = await connectAccount(cluster, { provider, tenant, note });
  const [works, fails, stored, ran, paged, refused, brought, tested] = await asked;
  note(refused);
  note(brought);
  for (const answer of [works, fails, stored]) note(answer);
  for (const path of [`T/datasources/${id}`, 'T/datasources', `T/datasources/${id}/usage`]) note(await api.get(path));
  note(await api.post(`T/datasources/${id}/clone`));
  note(await api.patch(`T/datasources/${id}`, { datasourceOptions: options(secrets.wrong) }));
  note(await api.post(`T/datasources/${id}/test`));
  note(await api.post(`T/queries/${queryID}/run`, { args: { value: 'another' } }));

  expect(works.status).toBe(200);
  expect(stored.status).toBe(200);
  expect(fails).toMatchObject({ status: 502, body: { error: { details: { reason: 'authentication' } } } });
  expect(ran.body.dataQueryResult).toEqual([{ value: secrets.value }]);
  expect(paged.body).toMatchObject({ dataQueryResult: [{ value: secrets.value }], totalCount: 3 });
  expect(refused).toMatchObject({ status: 502 });
  expect(brought).toMatchObject({ status: 201 });
  expect(tested.body.dataQueryResult).toEqual([{ value: secrets.value }]);
  await eventually(async () => {
    const { rows } = await cluster.pool.query('select count(*)::int as n from query_run');
    expect(rows[0].n).toBe(7);
  });
  const stores = {
    waiting,
    after: await dump(cluster),
    board: await readBoard(board),
    log: await readFile(join(dir, 'log'), 'utf8'),
    answers,
  };
  expect(stores.log).toContain('"level"');
  expect(stores.board.match(/"outcome":"answered"/g)?.length).toBeGreaterThan(5);
  for (const [place, text] of Object.entries(stores))
    for (const [what, secret] of Object.entries({ ...secrets, ...account, key }))
      expect(JSON.stringify(text).includes(secret), `${what} in ${place}`).toBe(false);
});

/** Connects an account, uses and refreshes it. Answers with the secrets of the flow. */
async function connectAccount(
  cluster: Cluster,
  {
    provider,
    tenant,
    note,
  }: { provider: OidcProvider; tenant: TestTenant; note<T extends { body: unknown }>(answer: T): T },
): Promise<Record<string, string>> {
  const api = cluster.as(tenant.creator).in(tenant);
  const browser = createBrowser({ [publicURL]: cluster.baseURL });
  const start = await api.get(`/api/v1/oauth/acme/${tenant.id}/url`);
  browser.take(publicURL, start.headers);
  const [, cookie = ''] = /=([^;]+)/.exec(start.headers.getSetCookie()[0] ?? '') ?? [];
  const callback = `${publicURL}/api/v1/oauth/acme/callback`;
  const back = await browser.visit(start.body.url, { as: 'ada@example.com', until: callback });
  const { text } = await browser.visit(back.url);
  const { id } = note(await api.get('T/oauth-connections')).body.oauthConnections[0];
  const code = new URL(back.url).searchParams.get('code') ?? '';
  note({ body: text });

  const before = await tokensOf(cluster, id);
  await provider.forget(before.accessToken);
  const datasourceOptions = { baseUrl: provider.issuer, authType: 'oauthConnection', oauthConnectionID: id };
  const body = { datasourceTitle: 'Account', datasourceType: 'restapi', datasourceOptions };
  const datasourceID = note(await api.post('T/datasources', body)).body.datasource.id;
  note(await api.post(`T/datasources/${datasourceID}/test`));
  const dataQuery = { dataQueryTitle: 'Me', datasourceID, dataQueryOptions: { apiEndpoint: '/me' } };
  note(await api.patch('T/queries/queryTest', { dataQuery }));
  const after = await tokensOf(cluster, id);
  await provider.revoke(after.refreshToken);
  await cluster.pool.query(`update oauth_connection set refresh_at = now(), expires_at = now() where id = $1`, [id]);
  note(await api.patch('T/queries/queryTest', { dataQuery }));
  expect(after.refreshToken).not.toBe(before.refreshToken);
  return {
    cookie,
    code,
    clientSecret: connecting.clientSecret,
    ...before,
    accessTokenAfter: after.accessToken,
    refreshTokenAfter: after.refreshToken,
  };
}

async function tokensOf(cluster: Cluster, id: string): Promise<{ accessToken: string; refreshToken: string }> {
  const { rows } = await cluster.pool.query('select tokens from oauth_connection where id = $1', [id]);
  return JSON.parse(cluster.context.secrets.open(rows[0].tokens, sealedColumns.oauthTokens.context(id)));
}

/** The board's pages with all jobs of the queues, as a browser gets them. */
async function readBoard({ port }: Board): Promise<string> {
  const pages = queues.map(async ({ name }) => {
    const response = await fetch(
      `http://127.0.0.1:${port}/api/queues?activeQueue=${encodeURIComponent(name)}&jobsPerPage=100`,
    );
    expect(response.status).toBe(200);
    return response.text();
  });
  return (await Promise.all(pages)).join('\n');
}

/** All rows of all tables, those of the queues included, and all keys of Redis. */
async function dump(cluster: Cluster): Promise<string> {
  const { rows: tables } = await cluster.pool.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const { rows } = await cluster.pool.query(`select t::text as row from ${name} t`);
    found.push(name, JSON.stringify(rows));
  }
  if (redisURL) found.push(await dumpRedis(redisURL, cluster.config.backplane.prefix));
  return found.join('\n');
}

async function dumpRedis(url: string, prefix: string): Promise<string> {
  const redis = new Redis(url);
  try {
    const keys = await redis.keys(`*${prefix}*`);
    const values = await Promise.all(keys.map((key) => readKey(redis, key)));
    return JSON.stringify([keys, values]);
  } finally {
    redis.disconnect();
  }
}

async function readKey(redis: Redis, key: string): Promise<unknown> {
  const type = await redis.type(key);
  if (type === 'hash') return redis.hgetall(key);
  if (type === 'list') return redis.lrange(key, '0', '-1');
  if (type === 'set') return redis.smembers(key);
  if (type === 'zset') return redis.zrange(key, '0', '-1');
  if (type === 'stream') return redis.xrange(key, '-', '+');
  return redis.get(key);
}
