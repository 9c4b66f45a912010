/** Every error of the service is in its log once, under an id that the client gets, too. */
import { readFileSync } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { io } from 'socket.io-client';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { createLogger } from '#shared/core/logger.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { aTenant, type TestTenant } from '../support/factories.ts';
import { openSocket } from '../support/socket.ts';

let cluster: Cluster;
let tenant: TestTenant;
let path: string;
let since = 0;
const resources = new AsyncDisposableStack();
beforeAll(async () => {
  const dir = resources.adopt(await mkdtemp(join(tmpdir(), 'gantry-log-')), (made) => rm(made, { recursive: true }));
  path = join(dir, 'log');
  const file = await open(path, 'a');
  resources.defer(() => file.close());
  cluster = resources.use(await startCluster({ workers: false, logger: createLogger({ level: 'info' }, {}, file.fd) }));
  tenant = await aTenant(cluster);
});
beforeEach(() => {
  since = lines().length;
});
/** The table of accounts is away, so that nothing that needs it works, for a reason that is the service's own. */
const breakAccounts = () => cluster.pool.query('alter table app_user rename to app_user_away');
const mendAccounts = () => cluster.pool.query('alter table if exists app_user_away rename to app_user');
afterEach(mendAccounts);
afterAll(() => resources.disposeAsync());

interface Line {
  level: string;
  requestID?: string;
  err?: { message: string; cause?: { message: string } };
  [field: string]: unknown;
}

function lines(): Line[] {
  const text = readFileSync(path, 'utf8');
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

/** The lines of the log since the test began that have this id. */
const linesOf = (requestID: string) =>
  lines()
    .slice(since)
    .filter((line) => line.requestID === requestID);

const CAUSE = 'relation "app_user" does not exist';

test('of a handshake that fails, and of one that is refused', async () => {
  const token = await cluster.tokenFor(tenant.creator);
  await breakAccounts();
  const failed = await openSocket(cluster.baseURL, token).catch((error) => error.data);
  await mendAccounts();
  const refused = await openSocket(cluster.baseURL, 'a.b.c').catch((error) => error.data);

  expect(failed).toEqual({ code: 'INTERNAL_ERROR', message: 'Internal error', requestID: expect.any(String) });
  expect(linesOf(failed.requestID)).toMatchObject([{ level: 'error', handshake: true, status: 500 }]);
  expect(JSON.stringify(linesOf(failed.requestID))).toContain(CAUSE.replaceAll('"', '\\"').replaceAll('\\', '\\'));
  expect(refused).toMatchObject({ code: 'USER_AUTH_TOKEN_NOT_FOUND', requestID: expect.any(String) });
  expect(linesOf(refused.requestID)).toMatchObject([{ level: 'info', handshake: true, status: 401 }]);
});

test('of a handshake of an operator', async () => {
  const error = await new Promise<{ data: { code: string; requestID: string } }>((resolve) => {
    const socket = io(`${cluster.baseURL}/operator`, {
      ...{ auth: { token: 'none' }, transports: ['websocket'], reconnection: false, forceNew: true },
    });
    socket.once('connect_error', (refusal) => {
      socket.disconnect();
      resolve(refusal as unknown as { data: { code: string; requestID: string } });
    });
  });

  expect(linesOf(error.data.requestID)).toMatchObject([{ level: 'info', handshake: true, code: error.data.code }]);
});

test('of a handshake of a page of another origin', async () => {
  const response = await fetch(`${cluster.baseURL}/socket.io/?EIO=4&transport=polling`, {
    headers: { origin: 'https://evil.test' },
  });

  const { message } = (await response.json()) as { message: string };
  expect(response.status).toBe(403);
  const [, requestID = ''] =
    /^Pages of this origin may not open a socket \(CORS_ORIGINS\) \((.+)\)$/.exec(message) ?? [];
  expect(linesOf(requestID)).toMatchObject([{ level: 'info', origin: 'https://evil.test', status: 403 }]);
});

test('of an event of a socket', async () => {
  await using socket = await cluster.socket(tenant.creator);
  await cluster.pool.query('alter table workflow_instance rename to workflow_instance_away');
  const answer = await socket
    .ask('workflow_run_join', { instanceID: newID() })
    .finally(() => cluster.pool.query('alter table workflow_instance_away rename to workflow_instance'));

  expect(answer.error).toMatchObject({ code: 'INTERNAL_ERROR', requestID: expect.any(String) });
  expect(linesOf(answer.error.requestID)).toMatchObject([{ level: 'error', event: 'workflow_run_join', status: 500 }]);
});

test('of a request', async () => {
  const token = await cluster.tokenFor(tenant.creator);
  await breakAccounts();
  const response = await fetch(`${cluster.baseURL}/api/v1/tenants`, { headers: { authorization: `Bearer ${token}` } });

  expect(response.status).toBe(500);
  expect(linesOf(response.headers.get('x-request-id') ?? '')).toMatchObject([{ level: 'error', status: 500 }]);
});
