import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Api, startApi } from '#api/app/listen.ts';
import type { ApiContext } from '#api/context/context.ts';
import { createGantry, type Gantry } from '#ops/client/index.ts';
import { newID } from '#shared/core/ids.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { QueueName } from '#shared/messaging/queues/index.ts';
import { readConfig } from '#shared/process/config.ts';
import { type Client, createClient } from './client.ts';
import { allQueues, type Deployment, startDeployment } from './deployment.ts';
import { testLogger } from './environment.ts';
import { openSocket, type TestSocket } from './socket.ts';

/** The real API and real workers in this process, on a database of their own. */
export interface Cluster extends Deployment {
  readonly baseURL: string;
  readonly context: ApiContext;
  /** Every API process, the first included. */
  readonly apis: readonly { baseURL: string; context: ApiContext; metricsPort: number | null }[];
  /** Undefined: a client without a token. */
  as(user: { email: string } | undefined, options?: { baseURL?: string }): Client;
  asOperator(operator: { token: string }, options?: { baseURL?: string }): Client;
  withKey(apiKey: { key: string }, options?: { baseURL?: string }): Client;
  /** The typed client, as programs use it; it throws what is refused. */
  gantryOf(user: { email: string }): Gantry;
  tokenFor(user: { email: string }): Promise<string>;
  socket(user: { email: string }, options?: { baseURL?: string }): Promise<TestSocket>;
}

export interface ClusterOptions {
  /** How many worker processes' worth of workers; true means one; names mean one for these queues alone. */
  workers?: boolean | number | readonly QueueName[];
  apis?: number;
  settings?: Record<string, string>;
  /** For tests that read the log. */
  logger?: Logger;
}

export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { workers = true, apis = 1, settings = {}, logger = testLogger } = options;
  await using resources = new AsyncDisposableStack();
  const keyFile = join(tmpdir(), `gantry-test-issuer-${newID()}.json`);
  resources.defer(() => rm(keyFile, { force: true }));
  const deployment = resources.use(
    await startDeployment({ PORT: '0', DEV_ISSUER_KEY_FILE: keyFile, ...settings }, logger),
  );
  const started: { api: Api; baseURL: string }[] = [];
  for (let n = 0; n < apis; n += 1) {
    const api = resources.use(await startApi({ config: readConfig(deployment.env), logger }));
    started.push({ api, baseURL: `http://127.0.0.1:${api.port}` });
  }
  if (typeof workers === 'object') await deployment.startWorker({}, workers);
  else for (let n = 0; n < Number(workers); n += 1) await deployment.startWorker({}, allQueues);
  const [first] = started;
  if (!first) throw new Error('A cluster has at least one API');

  const tokens = new Map<string, string>();
  async function tokenFor({ email }: { email: string }): Promise<string> {
    const known = tokens.get(email);
    if (known) return known;
    const response = await fetch(`${first?.baseURL}/dev/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email }),
    });
    const { token } = (await response.json()) as { token: string };
    tokens.set(email, token);
    return token;
  }

  const owned = resources.move();
  return {
    ...deployment,
    baseURL: first.baseURL,
    context: first.api.context,
    apis: started.map(({ api, baseURL }) => ({ baseURL, context: api.context, metricsPort: api.metricsPort })),
    tokenFor,
    gantryOf: (user) => createGantry({ baseURL: first.baseURL, auth: { token: () => tokenFor(user) } }),
    as: (user, { baseURL = first.baseURL } = {}) =>
      createClient(
        baseURL,
        async (): Promise<Record<string, string>> => (user ? { authorization: `Bearer ${await tokenFor(user)}` } : {}),
      ),
    asOperator: ({ token }, { baseURL = first.baseURL } = {}) =>
      createClient(baseURL, async () => ({ authorization: `Bearer ${token}` })),
    withKey: ({ key }, { baseURL = first.baseURL } = {}) => createClient(baseURL, async () => ({ 'x-api-key': key })),
    socket: async (user, { baseURL = first.baseURL } = {}) => openSocket(baseURL, await tokenFor(user)),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
