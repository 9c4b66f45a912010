import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApiContext, type OwnedApiContext } from '#api/app/open-context.ts';
import { createApp, createServer } from '#api/app/server.ts';
import type { ApiRoute } from '#api/context/routes.ts';
import { changeRules, type RuleSpec } from '#shared/access/policy/change.ts';
import { newID } from '#shared/core/ids.ts';
import { readConfig } from '#shared/process/config.ts';
import { redisURL } from './backplane.ts';
import { freshDatabase } from './database.ts';
import { testLogger, testSecurity } from './environment.ts';

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails when it is not there
  body: any;
}

export interface Client {
  userID: string;
  token: string;
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
}

/** The server of `api/app/server.ts` with a table of the test's own, on a database of its own. */
export interface SmallApi extends AsyncDisposable {
  url: string;
  server: Server;
  context: OwnedApiContext;
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Signs a user in. */
  as(email: string): Promise<Client>;
  /** A tenant with these members; the path of its routes. */
  tenant(...members: Client[]): Promise<{ tenantID: string; path: string }>;
  grant(tenantID: string, ...rules: RuleSpec[]): Promise<void>;
}

export async function startSmallApi(
  routes: readonly ApiRoute[],
  settings: Record<string, string> = {},
): Promise<SmallApi> {
  await using resources = new AsyncDisposableStack();
  const database = resources.use(await freshDatabase());
  const dir = resources.adopt(await mkdtemp(join(tmpdir(), 'gantry-api-')), (path) => rm(path, { recursive: true }));
  const config = readConfig({
    NODE_ENV: 'test',
    DATABASE_URL: database.url,
    ...(redisURL && { REDIS_URL: redisURL }),
    BACKPLANE_PREFIX: `t${newID().replaceAll('-', '').slice(-20)}`,
    DATABASE_POOL: '5',
    ...testSecurity,
    DEV_ISSUER_KEY_FILE: join(dir, 'key.json'),
    ...settings,
  });
  const context = resources.use(await createApiContext(config, testLogger));
  const server = createServer(createApp(context, [{ tag: 'Things', description: 'What the test serves.', routes }]));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  resources.defer(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function send(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
    const response = await fetch(url + path, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(text !== undefined && { body: text }),
    });
    const answer = await response.text();
    const isJSON = response.headers.get('content-type')?.startsWith('application/json');
    return { status: response.status, headers: response.headers, body: isJSON ? JSON.parse(answer) : answer };
  }

  const owned = resources.move();
  return {
    url,
    server,
    context,
    send,
    async as(email) {
      const { body } = await send('POST', '/dev/token', { email });
      const { userID } = await context.access.authenticator.identifyToken(body.token);
      return {
        userID,
        token: body.token,
        send: (method, path, payload, headers) =>
          send(method, path, payload, { authorization: `Bearer ${body.token}`, ...headers }),
      };
    },
    async tenant(...members) {
      const tenantID = newID();
      await context.pool.query('insert into tenant (id, tenant_title, creator_id) values ($1, $2, $3)', [
        tenantID,
        'A tenant',
        newID(),
      ]);
      for (const { userID } of members)
        await context.pool.query('insert into membership (tenant_id, user_id) values ($1, $2)', [tenantID, userID]);
      return { tenantID, path: `/api/v1/tenants/${tenantID}` };
    },
    grant: (tenantID, ...rules) => changeRules(context.orm.em.fork(), tenantID, { add: rules }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
