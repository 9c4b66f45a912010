/** The process of row HOLDS: the API and its workers in one process, on the servers that the row has started. One JSON line a figure. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextRound } from 'node:timers/promises';
import { routes } from '#api/app/routes.ts';
import type { Route } from '#api/http/route/route.ts';
import setup from '#test/setup/global.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { aListener, anOperator, aTenant, aWorkflow, type TestTenant } from '#test/support/factories.ts';
import { hostileValues, spotsIn } from '#test/support/hostile-bodies.ts';
import { faultyBodies, hostileFields } from '#test/support/hostile-requests.ts';
import { changed, largeBundles } from '#test/support/large-bundles.ts';
import { startMCPOf } from '#test/support/mcp.ts';
import { bodyOf, makeParams, nameOf } from '#test/support/route-calls.ts';
import { loginFixture, queryFixture } from '#test/support/route-fixtures.ts';
import { leastCostOf, longestHold } from './event-loop.ts';
import type { Answer, Call } from './holds-client.ts';
import type { PrintedFigure } from './on-test-servers.ts';

const SMALL = 500_000;
const LARGE = 5_000_000;
/** The start step of its run puts out the whole event, which has at most 5 MiB. */
const DELIVERED = 4_000_000;
/** Places of a body that are tried, each with one of the values: all of them would take an hour. `HOSTILE_DRAW=7` tries others. */
const SPOTS = 3;
/** A hold that needs no further try: less than what a request may hold a loop for. */
const ENOUGH_MS = 20;
const draw = Number(process.env.HOSTILE_DRAW ?? 0);
const kinds = Object.keys(hostileValues);
const [chosen = ''] = process.argv.slice(2);

await setup();
const cluster: Cluster = await startCluster({ settings: { USER_REQUESTS_PER_MINUTE: '0' } });
const tenant: TestTenant = await aTenant(cluster);
const operator = await anOperator(cluster, loginFixture);
const dir = await mkdtemp(join(tmpdir(), 'gantry-bench-bodies-'));
const file = join(dir, 'body');
const client = fork(join(import.meta.dirname, 'holds-client.ts'));
const parts = {
  small: smallBodies,
  large: largeBodies,
  delivery: deliveries,
  message: messages,
  file: files,
  bundle: bundles,
};
for (const [name, part] of Object.entries(parts)) if (name.includes(chosen)) await part();
client.kill();
await cluster[Symbol.asyncDispose]();
await rm(dir, { recursive: true, force: true });
process.exit();

type Target = Omit<Call, 'file'>;

/** Sends the body in the file. */
async function send(target: Target): Promise<Answer> {
  client.send({ ...target, file } satisfies Call);
  const [answer] = await once(client, 'message');
  return answer as Answer;
}

/** Sends it, and throws if the service has failed. */
async function sendRightly(target: Target): Promise<Answer> {
  const answer = await send(target);
  // 502: no datasource may reach the servers of this process.
  if (answer.status >= 500 && answer.status !== 502)
    throw new Error(`${target.url} answered ${answer.status} ${answer.beginning}`);
  return answer;
}

/** Half a megabyte in some spots of the body of each route; the floor is that of an object with many keys. */
async function smallBodies(): Promise<void> {
  const floor = costOfJSON(hostile('many keys', SMALL));
  for (const [nth, route] of routes.filter(({ body }) => body).entries()) {
    const { target, spots } = await prepare(nameOf(route));
    const most = { ms: 0, figure: '' };
    for (const [at, spot] of spread(spots, SPOTS, draw).entries()) {
      const kind = kinds[(nth * SPOTS + at + draw) % kinds.length] ?? '';
      await writeFile(file, spot.fill(hostile(kind, SMALL)));
      const ms = await longestHold(2.5 * floor, () => sendRightly(target));
      if (ms >= most.ms)
        Object.assign(most, { ms, figure: `half a megabyte, ${spot.name}: ${kind}: ${nameOf(route)}` });
    }
    print(most.figure, most.ms, floor);
  }
}

async function largeBodies(): Promise<void> {
  for (const [name, at, kind] of hostileFields) {
    const { target, spots } = await prepare(name);
    const body = spots.find((candidate) => candidate.name === at)?.fill(hostile(kind, LARGE)) ?? '';
    await measure(`five megabytes, ${at}: ${kind}: ${name}`, body, target);
  }
  for (const [name, fault, body] of faultyBodies()) {
    const { target } = await prepare(name);
    await measure(`five megabytes with ${fault}: ${name}`, body, target);
  }
}

/** Deliveries to a webhook, until the runs that they start are accepted. */
async function deliveries(): Promise<void> {
  const workflow = await aWorkflow(cluster, { tenant });
  const actions = [{ actionType: 'trigger_workflow', actionConfig: { workflowID: workflow.id } }];
  const listener = await aListener(cluster, { tenant, config: { answerMode: 'result', dedupBy: 'none' }, actions });
  const url = `${cluster.baseURL}/webhooks/v1/inbound/${listener.id}`;
  for (const kind of ['many keys', 'empty objects', 'small objects', 'unicode', 'escapes', 'control characters'])
    await measure(`a delivery of four megabytes: ${kind}`, hostile(kind, DELIVERED), {
      ...{ url, method: 'POST', headers: { 'content-type': 'application/json' } },
    });
  for (const unit of ['a=1&', 'a=%41&', '%41'])
    await measure(`a delivery of a form of five megabytes of ${unit}`, unit.repeat(LARGE / unit.length), {
      ...{ url, method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    });
}

async function messages(): Promise<void> {
  await using mcp = await startMCPOf(cluster);
  const names = hostile('many keys', LARGE);
  const params = {
    'names of arguments': `{"name":"execute_workflow","arguments":${names}}`,
    'values in an argument': `{"name":"execute_workflow","arguments":{"workflowID":"${(await aWorkflow(cluster, { tenant })).id}","args":{"list":${hostile('empty objects', LARGE)}}}}`,
    'fields of _meta': `{"_meta":${names}}`,
  };
  for (const [what, text] of Object.entries(params)) {
    const method = what === 'fields of _meta' ? 'tools/list' : 'tools/call';
    const body = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${text}}`;
    const url = `http://127.0.0.1:${mcp.port}/tenants/${tenant.id}/mcp`;
    const accept = 'application/json, text/event-stream';
    const headers = { ...(await headersOf(tenant)), accept };
    await measure(`a message of MCP with many ${what}`, body, { url, method: 'POST', headers });
  }
}

async function files(): Promise<void> {
  for (const unit of ['a', '< ']) {
    const form = new FormData();
    form.append('file', new Blob([unit.repeat(9_900_000 / unit.length)]), 'a.txt');
    const sent = new Response(form);
    const url = `${cluster.baseURL}/api/v1/tenants/${tenant.id}/widgets/upload`;
    const headers = { ...(await headersOf(tenant)), 'content-type': sent.headers.get('content-type') ?? '' };
    await writeFile(file, Buffer.from(await sent.arrayBuffer()));
    const figure = `a file of ten megabytes of ${JSON.stringify(unit)}`;
    await measureFile(figure, costOfJSON(hostile('many keys', SMALL)), { url, method: 'POST', headers });
  }
}

async function bundles(): Promise<void> {
  for (const [name, make] of Object.entries(largeBundles)) {
    const own = await aTenant(cluster);
    const headers = await headersOf(own);
    const to = (path: string): Target => ({
      ...{ url: `${cluster.baseURL}/api/v1/tenants/${own.id}/${path}`, method: 'POST', headers },
    });
    const items = make();
    const body = textOf(items);
    for (const path of ['import/preview', 'import/plan']) await measure(`${path} of ${name}`, body, to(path));
    if (name !== 'large widgets' && !name.startsWith('a workflow')) continue;
    await measure(`import/execute of ${name}`, body, to('import/execute'), () => writeFile(file, textOf(make())));
    await writeFile(file, body);
    await sendRightly(to('import/execute'));
    const texts = [textOf(changed(items)), body];
    await measure(`import/apply of ${name}`, body, to('import/apply'), async () => {
      const [next = ''] = texts;
      texts.reverse();
      await writeFile(file, next);
      const { found } = await sendRightly({ ...to('import/plan'), find: '"token":"(\\w+)"' });
      await writeFile(file, `{"token":"${found}",${next.slice(1)}`);
    });
    const { rows } = await cluster.pool.query(
      'select type, asset_id as id from bundle_key where key = any($1::uuid[])',
      [items.map(({ id }) => id)],
    );
    await writeFile(file, JSON.stringify({ items: rows }));
    await measureFile(`export of ${name}`, costOfJSON(body), to('export'));
  }
}

function textOf(items: ReturnType<typeof changed>): string {
  return JSON.stringify({ bundle: { bundleVersion: 1, items } });
}

/** `before` writes the file again before each try. */
async function measure(
  figure: string,
  json: string,
  target: Target,
  before: () => Promise<unknown> = async () => undefined,
): Promise<void> {
  await writeFile(file, json);
  await measureFile(figure, costOfJSON(json), target, before);
}

async function measureFile(
  figure: string,
  floor: number,
  target: Target,
  before: () => Promise<unknown> = async () => undefined,
): Promise<void> {
  // Garbage of making the body is collected in a round of its own.
  const settle = async () => {
    await before();
    await nextRound();
  };
  print(figure, await longestHold(ENOUGH_MS, () => sendRightly(target), settle), floor);
}

function print(figure: string, value: number, floor: number): void {
  process.stdout.write(`${JSON.stringify({ figure, value, floor } satisfies PrintedFigure)}\n`);
}

async function headersOf(who: TestTenant): Promise<Record<string, string>> {
  const authorization = `Bearer ${await cluster.tokenFor(who.creator)}`;
  return { authorization, 'content-type': 'application/json' };
}

async function prepare(name: string) {
  const route: Route | undefined = routes.find((candidate) => nameOf(candidate) === name);
  if (!route) throw new Error(`There is no route ${name}`);
  const params = await makeParams(cluster, route, tenant);
  const token = route.realm === 'operator' ? operator.token : await cluster.tokenFor(tenant.creator);
  const path = route.path.replace(/:(\w+)/g, (_match, name: string) => encodeURIComponent(params[name] ?? ''));
  const target: Target = {
    url: cluster.baseURL + path + queryFixture(nameOf(route)),
    method: route.method.toUpperCase(),
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  };
  return { target, spots: spotsIn(route, bodyOf(route, params)) };
}

function hostile(kind: string, bytes: number): string {
  return hostileValues[kind]?.(bytes) ?? '';
}

function costOfJSON(text: string): number {
  const json = /^[[{"]/.test(text) ? text : JSON.stringify(text);
  // The clock of a thread may count in steps of 4 ms.
  return Math.max(
    1,
    leastCostOf(() => JSON.stringify(JSON.parse(json))),
  );
}

/** So many of a list, from its beginning to its end, or all. */
function spread<T>(list: readonly T[], count: number, from: number): T[] {
  const step = Math.max(1, list.length / count);
  return list.filter((_item, index) => (index + from) % step < 1);
}
