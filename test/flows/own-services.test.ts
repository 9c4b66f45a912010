import { lookup } from 'node:dns/promises';
import { hostname, networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Board, startBoard } from '#ops/board.ts';
import { freePort } from '#ops/embedded/ports.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { readConfig } from '#shared/process/config.ts';
import { redisURL } from '../support/backplane.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { testLogger, testServers } from '../support/environment.ts';
import { aDatasource, aTenant, aUser, aWorkflow, chain, type TestTenant } from '../support/factories.ts';
import { json, startHTTP } from '../support/http-server.ts';

/** The deployment allows every address, and its API and board listen on all of this machine. */
const everything = '0.0.0.0/0,::/0';

let cluster: Cluster;
let board: Board;
let tenant: TestTenant;
let port: number;
let boardPort: number;
beforeAll(async () => {
  [port, boardPort] = [await freePort(), await freePort()];
  const settings = { HOST: '0.0.0.0', PORT: `${port}`, BOARD_PORT: `${boardPort}`, OUTBOUND_ALLOW: everything };
  cluster = await startCluster({ settings });
  board = await startBoard({
    config: readConfig({ ...cluster.env, BOARD_OPEN_ON_LOOPBACK: 'true' }),
    logger: testLogger,
  });
  tenant = await aTenant(cluster);
});
afterAll(async () => {
  await board[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

const api = () => cluster.as(tenant.creator).in(tenant);

/** An address of this machine that is not loopback; a machine without a network has none. */
const otherAddress =
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.9.8.7';

const hostOf = {
  'the usual name': 'localhost',
  'the address of loopback': '127.0.0.1',
  'another address of loopback': '127.44.3.2',
  'a short form': '127.1',
  'one number': '2130706433',
  'an octal number': '0177.0.0.1',
  'IPv6 loopback': '[::1]',
  'IPv4 inside IPv6': '[::ffff:127.0.0.1]',
  'the unspecified address': '0.0.0.0',
  'the unspecified IPv6 address': '[::]',
  'another address of this machine': otherAddress,
} as const;

/** A request for another person's token, as a workflow sends it. */
async function fetchToken(url: string): Promise<{ status: string; error: JsonObject | null; output: unknown }> {
  const { email } = await aUser(cluster);
  const call = { type: 'http', url, method: 'POST', body: { email }, outputVariable: 'answer' };
  const workflow = await aWorkflow(cluster, { tenant, ...chain({ call }, { answer: '{{ctx.answer}}' }) });
  const { body } = await api().post(`T/workflows/${workflow.id}/execute`);
  await cluster.settle();
  return await cluster.read(body.instanceID);
}

const refused = (where: string) => ({
  code: 'UPSTREAM_FAILED',
  message: expect.stringContaining(`${where} is refused: it is an address of this service`),
});

describe('a workflow does not reach the API', () => {
  test.each(Object.entries(hostOf))('by %s: %s', async (_what, host) => {
    const run = await fetchToken(`http://${host}:${port}/dev/token`);

    expect(run.output).toBeNull();
    expect(run).toMatchObject({ status: 'FAILED', error: { code: 'UPSTREAM_FAILED' } });
    expect(run.error?.message).toMatch(new RegExp(`:${port} is refused: it is an address of this service$`));
  });

  test('by a redirect of another server', async () => {
    await using server = await startHTTP((_request, response) => {
      response.writeHead(307, { location: `http://127.0.0.1:${port}/dev/token` }).end();
    });

    const run = await fetchToken(server.origin);

    expect(server.seen).toHaveLength(1);
    expect(run).toMatchObject({ status: 'FAILED', error: refused(`127.0.0.1:${port}`), output: null });
  });

  test('by the name of this machine', async ({ skip }) => {
    const found = await lookup(hostname()).catch(() => undefined);
    if (!found) skip('this machine has no name that resolves');

    const run = await fetchToken(`http://${hostname()}:${port}/dev/token`);

    expect(run).toMatchObject({ status: 'FAILED', error: refused(`${hostname()}:${port}`), output: null });
  });
});

test('another port of this machine is reached where OUTBOUND_ALLOW covers it', async () => {
  await using server = await startHTTP((_request, response) => json(response, { other: 'service' }));

  expect(await fetchToken(server.origin)).toMatchObject({
    status: 'COMPLETED',
    output: { answer: { other: 'service' } },
  });
});

const database = () => new URL(cluster.env.DATABASE_URL ?? '');

type DatasourceRow = [what: string, type: string, options: () => JsonObject];

function redisRow(connectionUrl: string): DatasourceRow {
  return ['the Redis', 'redis', () => ({ connectionOption: 'connectionUrl', connectionUrl })];
}

/** Places of the deployment's own, as options of a datasource. */
const datasources: DatasourceRow[] = [
  ['the board over HTTP', 'restapi', () => ({ baseUrl: `http://localhost:${boardPort}` })],
  ['the API over HTTP', 'restapi', () => ({ baseUrl: `http://${otherAddress}:${port}` })],
  ['the API over GraphQL', 'graphql', () => ({ endpoint: `http://127.1:${port}/dev/token` })],
  ['the API over a socket', 'websocket', () => ({ url: `ws://127.0.0.1:${port}/socket.io/?transport=websocket` })],
  [
    'the Postgres by its URL',
    'postgresql',
    () => ({ connectionOption: 'connectionString', connectionString: database().href }),
  ],
  [
    'the Postgres by a name',
    'postgresql',
    () => ({
      connectionOption: 'connectionDetails',
      connectionDetails: {
        host: 'localhost',
        port: Number(database().port),
        database: database().pathname.slice(1),
        user: decodeURIComponent(database().username),
        password: decodeURIComponent(database().password),
        sslMode: 'disable',
      },
    }),
  ],
  ['the Postgres over HTTP', 'restapi', () => ({ baseUrl: `http://[::ffff:127.0.0.1]:${database().port}` })],
  ['the Postgres as NATS', 'nats', () => ({ servers: `127.0.0.1:${database().port}` })],
  [
    'the Postgres as RabbitMQ',
    'rabbitmq',
    () => ({ connectionOption: 'connectionUrl', connectionUrl: `amqp://u:p@127.0.0.1:${database().port}/` }),
  ],
  // Only one of the two backplanes has a Redis.
  ...(redisURL ? [redisRow(redisURL)] : []),
];

describe('a datasource does not reach', () => {
  test.each(datasources)('%s', async (_what, datasourceType, datasourceOptions) => {
    const options = datasourceOptions();
    const { id } = await aDatasource(cluster, { tenant, type: datasourceType, options });

    const tried = await api().post('T/datasources/test', { datasourceType, datasourceOptions: options });
    const stored = await api().post(`T/datasources/${id}/test`);

    for (const { body } of [tried, stored])
      expect(JSON.stringify(body)).toContain('is refused: it is an address of this service');
  });
});

test("a tenant's own database cannot be the deployment's", async () => {
  const asked = await api().patch('/api/v1/tenants/dbtest', { tenantDBURL: database().href });
  const other = await api().patch('/api/v1/tenants/dbtest', { tenantDBURL: testServers.datasourceURL });

  expect(JSON.stringify(asked.body)).toContain('is refused: it is an address of this service');
  expect(other).toMatchObject({ status: 200, body: { connectionResult: true } });
});

test("the database that Gantry creates is still the tenant's", async () => {
  const answer = await api().post('T/database/execute-raw-sql', { sql: 'select 1 as one' });

  expect(answer).toMatchObject({ status: 200, body: { result: [{ one: 1 }] } });
});
