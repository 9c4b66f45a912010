import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { routes } from '#api/app/routes.ts';
import type { Route } from '#api/http/route/route.ts';
import {
  createGantry,
  type Gantry,
  GantryError,
  type GantryOptions,
  type OperationName,
  type RunEvent,
} from '#ops/client/index.ts';
import { newID } from '#shared/core/ids.ts';
import { compile, importClient, installClient } from '#test/contract/packed-client.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { anOperator, aTenant, aWorkflow, type TestTenant } from '#test/support/factories.ts';
import { graph, noops } from '#test/support/graphs.ts';
import { bodyOf, nameOf, paramsOf, queriesOf, queuesOfRoutes } from '#test/support/route-calls.ts';
import { loginFixture, paramFixture, paramsInBody, paramsInQuery } from '#test/support/route-fixtures.ts';

let dir: string;
let cluster: Cluster;
let tenant: TestTenant;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'gantry-client-'));
  const installed = installClient(dir);
  cluster = await startCluster({ workers: [...queuesOfRoutes, 'workflow.runs'] });
  tenant = await aTenant(cluster);
  // One operation signs in this operator.
  await anOperator(cluster, loginFixture);
  await installed;
});
afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

/** Uses the client as a program of another team does. */
const use = `
import { createGantry, GantryError, type Answer, type ClientEvents, type Item, type ServerEvents } from 'gantry-client';

export async function use(tenantID: string): Promise<string[]> {
  const gantry = createGantry({ baseURL: 'http://127.0.0.1:1', auth: { token: async () => 'a' } });
  const path = { tenantID, databaseSchemaName: 'public' };
  const { databaseTables } = await gantry.call('listTables', { path });
  const names: string[] = databaseTables.map((table) => table.databaseTableName);
  await gantry.call('listTenants');
  // @ts-expect-error a parameter of the path is missing
  await gantry.call('getTableStatistics', { path });
  // @ts-expect-error the operation requires parameters
  await gantry.call('getTenant');
  // @ts-expect-error there is no such operation
  await gantry.call('getTennant', { path });
  // @ts-expect-error the title is a text
  await gantry.call('createTenant', { body: { tenantTitle: 1 } });
  // @ts-expect-error it is no list
  gantry.pages('getTenant', { path });
  for await (const workflow of gantry.pages('listWorkflows', { path: { tenantID }, query: { search: 'a' } }))
    names.push(workflow.title);
  const file: Blob = await gantry.call('downloadDatasourceFile', { path: { tenantID, fileID: tenantID } });
  const address: string = await gantry.call('startOauth', { path: { tenantID, provider: 'acme' } });
  await gantry.call('uploadTenantLogo', { path: { tenantID }, body: new FormData() });
  for await (const { event, message } of gantry.watchRun({ tenantID, instanceID: tenantID }))
    if (event === 'workflow_node_update') names.push(message.nodeID, message.status);
  const { data, error } = await gantry.rest.GET('/api/v1/tenants/{tenantID}', { params: { path: { tenantID } } });
  console.log(file.size, address, data?.tenant.tenantTitle, error?.error.code);
  return names;
}

export type Tables = Answer<'listTables'>;
export const titleOf = (workflow: Item<'listWorkflows'>): string => workflow.workflowTitle;
export const told: ServerEvents['notification'] = ({ title }) => console.log(title);
export const join: Parameters<ClientEvents['workflow_run_join']>[0] = { instanceID: 'a' };
export const isRefused = (error: unknown) => error instanceof GantryError && error.code === 'NOT_FOUND' && error.requestID;
`;

test('the packed client compiles under strict in a project of its own, with code that uses it', async () => {
  await writeFile(join(dir, 'use.ts'), use);

  expect(await compile(dir, 'use.ts')).toBe('');
});

test('the package has compiled JavaScript with its declarations and what that imports, also after a killed pack', async () => {
  const folder = join(dir, 'node_modules/gantry-client');
  const names = (await readdir(join(folder, 'dist'), { recursive: true })).filter((name) => name.includes('.'));
  const modules = names.filter((name) => name.endsWith('.js')).map((name) => name.slice(0, -3));
  const sources = { client: await sourcesIn('client'), cli: await sourcesIn('cli') };

  expect((await readdir(folder)).toSorted()).toEqual(['README.md', 'dist', 'node_modules', 'package.json']);
  expect(names.toSorted()).toEqual(modules.flatMap((name) => [`${name}.d.ts`, `${name}.js`]).toSorted());
  expect(modules.filter((name) => name.startsWith('client/')).toSorted()).toEqual(sources.client);
  expect(sources.cli).toEqual(expect.arrayContaining(modules.filter((name) => name.startsWith('cli/'))));
  expect((await readdir(join(folder, 'node_modules'))).filter((name) => !name.startsWith('.')).toSorted()).toEqual([
    'commander',
    'eventsource-parser',
    'openapi-fetch',
    'openapi-typescript-helpers',
  ]);
  expect(await readFile(join(folder, 'README.md'), 'utf8')).toContain('# The typed client');
});

test('git sees nothing of a pack that was killed', async () => {
  const ignored = (await readFile(new URL('../../.gitignore', import.meta.url), 'utf8')).split('\n');

  expect(ignored).toEqual(expect.arrayContaining(['node_modules/', 'ops/client/dist/', 'ops/client/README.md']));
});

async function sourcesIn(folder: string): Promise<string[]> {
  const names = await readdir(new URL(`../../ops/${folder}`, import.meta.url));
  return names
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name.slice(0, -3)}`)
    .toSorted();
}

test('the package has the command line', async () => {
  const { stdout } = await promisify(execFile)(join(dir, 'node_modules/.bin/gantry'), ['workflows', '--help']);

  expect(stdout).toContain('push');
});

test('every operation can be called with the packed client', async () => {
  const { createGantry: create } = await importClient(dir);
  const own = await aTenant(cluster);
  const token = await cluster.tokenFor(own.creator);
  // One operation ends this session.
  const operator = await anOperator(cluster);
  const clients = {
    tenant: create({ baseURL: cluster.baseURL, auth: { token }, retries: 0 }),
    operator: create({ baseURL: cluster.baseURL, auth: { token: operator.token }, retries: 0 }),
  };
  const params = new Map<string, string>();
  const outcomes: Record<string, string> = {};
  for (const route of routes.toSorted((one, other) => rankOf(one) - rankOf(other))) {
    const names = [...paramsOf(route), ...paramsInBody(nameOf(route)), ...paramsInQuery(nameOf(route))];
    for (const name of names) if (!params.has(name)) params.set(name, await paramFixture(name)(cluster, own));
    const gantry = route.realm === 'operator' ? clients.operator : clients.tenant;
    outcomes[route.name] = await outcomeOf(gantry, route, Object.fromEntries(params));
  }

  // Objects that another operation has changed or deleted before may be refused; a request that is no operation, or malformed, may not.
  const wrong = Object.entries(outcomes).filter(([, outcome]) => !/^(done$|NOT_FOUND|CONFLICT)/.test(outcome));
  expect(Object.fromEntries(wrong)).toEqual({});
  expect(Object.values(outcomes).filter((outcome) => outcome === 'done').length).toBeGreaterThan(0.9 * routes.length);
});

test('pages of a list are read one after another', async () => {
  const own = await aTenant(cluster);
  for (const title of ['a', 'b', 'c']) await aWorkflow(cluster, { tenant: own, title });
  const gantry = await gantryOf(own);
  const requests: string[] = [];
  const counted = await gantryOf(own, { fetch: (request) => fetch(note(requests, request)) });

  const titles: string[] = [];
  const path = { tenantID: own.id };
  for await (const { title } of counted.pages('listWorkflows', { path, query: { limit: 2 } })) titles.push(title);
  const whole = await gantry.call('listWorkflows', { path });

  expect(titles.toSorted()).toEqual(['a', 'b', 'c']);
  expect(requests.length).toBe(2);
  expect(whole.totalCount).toBe(3);
});

test('a refusal says what was wrong, and of which request', async () => {
  const gantry = await gantryOf(tenant);

  const missing = await gantry.call('getTenant', { path: { tenantID: newID() } }).catch((error: unknown) => error);
  const wrong = await gantry.call('createTenant', { body: { tenantTitle: '' } }).catch((error: unknown) => error);
  const away = createGantry({ baseURL: 'http://127.0.0.1:1', retries: 0 });

  expect(missing).toBeInstanceOf(GantryError);
  expect(missing).toMatchObject({ code: 'PERMISSION_DENIED', status: 403, requestID: expect.stringMatching(/.{30}/) });
  expect(wrong).toMatchObject({ code: 'VALIDATION_ERROR', details: { issues: [{ path: ['tenantTitle'] }] } });
  await expect(away.call('getHealth')).rejects.toMatchObject({ code: 'UNREACHABLE', status: 0 });
});

test('an answer that is lost is asked for again, with one effect; without a key nothing is sent twice', async () => {
  const requests: string[] = [];
  const losing = await gantryOf(tenant, {
    fetch: async (request) => {
      const response = await fetch(note(requests, request));
      if (requests.length === 1) throw new TypeError('The connection was lost');
      return response;
    },
  });
  const path = { tenantID: tenant.id };

  const { folder } = await losing.call('createFolder', { path, body: { entityType: 'widget', folderTitle: 'Once' } });
  const { folders } = await losing.call('listFolders', { path, query: { entityType: 'widget' } });
  expect(folders.map(({ id }) => id)).toEqual([folder.id]);
  expect(requests).toEqual(['POST', 'POST', 'GET']);

  requests.length = 0;
  const renamed = losing.call('updateFolder', { path: { ...path, folderID: folder.id }, body: { folderTitle: 'B' } });
  await expect(renamed).rejects.toMatchObject({ code: 'UNREACHABLE' });
  expect(requests).toEqual(['PATCH']);
});

test('a run is watched to its end over lost connections, with each event once', async () => {
  const workflow = await aWorkflow(cluster, { tenant, ...noops(6) });
  let streams = 0;
  const cutting = await gantryOf(tenant, {
    fetch: async (request) => {
      const response = await fetch(request);
      if (!request.url.includes('/stream')) return response;
      streams += 1;
      return streams > 2 ? response : new Response(cutAfter(response, 700), response);
    },
  });
  const path = { tenantID: tenant.id, workflowID: workflow.id };
  const { instanceID } = await cutting.call('executeWorkflow', { path, body: { tags: ['a'] } });
  const run = { tenantID: tenant.id, instanceID };

  const events: RunEvent[] = [];
  for await (const event of cutting.watchRun(run)) events.push(event);
  const { status, tags, seq } = await cutting.waitForRun({ ...run, timeoutMs: 10_000 });

  const seqs = events.map(({ message }) => message.seq);
  expect(seqs).toEqual(Array.from({ length: seq }, (_, index) => index + 1));
  expect({ status, tags, last: events.at(-1)?.event }).toEqual({
    status: 'COMPLETED',
    tags: ['a'],
    last: 'workflow_status_update',
  });
  expect(streams).toBeGreaterThan(2);
});

test('waiting for a run ends in time', async () => {
  const delay = graph({ start: { type: 'start' }, wait: { type: 'delay', delayMinutes: 60 } }, ['start>wait']);
  const workflow = await aWorkflow(cluster, { tenant, ...delay });
  const gantry = await gantryOf(tenant);
  const path = { tenantID: tenant.id, workflowID: workflow.id };
  const { instanceID } = await gantry.call('executeWorkflow', { path });

  const waited = gantry.waitForRun({ tenantID: tenant.id, instanceID, timeoutMs: 300 });

  await expect(waited).rejects.toMatchObject({ code: 'TIMEOUT' });
  // As after the garbage collection of its request, which takes the signal along.
  const deaf = await gantryOf(tenant, { fetch: ({ url, headers }) => fetch(url, { headers }) });
  const late = deaf.waitForRun({ tenantID: tenant.id, instanceID, timeoutMs: 300 });
  await expect(late).rejects.toMatchObject({ code: 'TIMEOUT' });
});

async function gantryOf({ creator }: TestTenant, options: Partial<GantryOptions> = {}): Promise<Gantry> {
  return createGantry({ baseURL: cluster.baseURL, auth: { token: await cluster.tokenFor(creator) }, ...options });
}

function note(requests: string[], request: Request): Request {
  requests.push(request.method);
  return request;
}

/** The body of an answer whose connection is lost after so many bytes. */
function cutAfter({ body }: Response, length: number): ReadableStream<Uint8Array> | undefined {
  let left = length;
  const cut = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      if (bytes.length <= left) controller.enqueue(bytes);
      else if (left > 0) controller.enqueue(bytes.subarray(0, left));
      left -= bytes.length;
      if (left < 0) controller.error(new TypeError('The connection was lost'));
    },
  });
  return body?.pipeThrough(cut);
}

/** Reads first, then what changes, then what takes away what others need. */
function rankOf({ name, method }: Route): number {
  if (name === 'deleteTenant' || name === 'logoutOperator') return 3;
  return method === 'get' ? 0 : method === 'delete' ? 2 : 1;
}

async function outcomeOf(gantry: Gantry, route: Route, params: Record<string, string>): Promise<string> {
  const path = Object.fromEntries(paramsOf(route).map((name) => [name, params[name]]));
  const query = Object.fromEntries(queriesOf(route, params));
  const call = gantry.call as (name: OperationName, input: object) => Promise<unknown>;
  return call(route.name as OperationName, { path, query, body: bodyOf(route, params) }).then(
    () => 'done',
    ({ code, status, message }: GantryError) => `${code} ${status}: ${message}`,
  );
}
