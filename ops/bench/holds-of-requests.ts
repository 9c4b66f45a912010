/** The process of row HOLDS: the API and its workers in one process, on the servers that the row has started. One JSON line a figure. */
import { setImmediate as nextRound } from 'node:timers/promises';
import { routes } from '#api/app/routes.ts';
import type { Route } from '#api/http/route/route.ts';
import { startMCP } from '#api/mcp/listen.ts';
import setup from '#test/setup/global.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { anOperator, aTenant, type TestTenant } from '#test/support/factories.ts';
import { hostileValues, spotsIn } from '#test/support/hostile-bodies.ts';
import { faultyBodies, hostileFields } from '#test/support/hostile-requests.ts';
import { changed, largeBundles } from '#test/support/large-bundles.ts';
import { bodyOf, makeParams, nameOf } from '#test/support/route-calls.ts';
import { loginFixture, queryFixture } from '#test/support/route-fixtures.ts';
import { leastCostOf, longestHold } from './event-loop.ts';
import type { PrintedFigure } from './on-test-servers.ts';

const SMALL = 500_000;
const LARGE = 5_000_000;
/** Places of a body that are tried, each with one of the values: all of them would take an hour. `HOSTILE_DRAW=7` tries others. */
const SPOTS = 3;
const draw = Number(process.env.HOSTILE_DRAW ?? 0);
const kinds = Object.keys(hostileValues);
const [chosen = ''] = process.argv.slice(2);

await setup();
const cluster: Cluster = await startCluster({ settings: { USER_REQUESTS_PER_MINUTE: '0' } });
const tenant: TestTenant = await aTenant(cluster);
const operator = await anOperator(cluster, loginFixture);
const parts = { small: smallBodies, large: largeBodies, message: messages, file: files, bundle: bundles };
for (const [name, part] of Object.entries(parts)) if (name.includes(chosen)) await part();
await cluster[Symbol.asyncDispose]();
process.exit();

/** Half a megabyte in some spots of the body of each route; the floor is that of an object with many keys. */
async function smallBodies(): Promise<void> {
  const floor = costOfJSON(hostile('many keys', SMALL));
  for (const [nth, route] of routes.filter(({ body }) => body).entries()) {
    const { send, spots } = await prepare(nameOf(route));
    const most = { ms: 0, figure: '' };
    for (const [at, spot] of spread(spots, SPOTS, draw).entries()) {
      const kind = kinds[(nth * SPOTS + at + draw) % kinds.length] ?? '';
      const ms = await longestHold(2.5 * floor, () => send(spot.fill(hostile(kind, SMALL))));
      if (ms >= most.ms)
        Object.assign(most, { ms, figure: `half a megabyte, ${spot.name}: ${kind}: ${nameOf(route)}` });
    }
    print(most.figure, most.ms, floor);
  }
}

async function largeBodies(): Promise<void> {
  for (const [name, at, kind] of hostileFields) {
    const { send, spots } = await prepare(name);
    const body = spots.find((candidate) => candidate.name === at)?.fill(hostile(kind, LARGE)) ?? '';
    await measure(`five megabytes, ${at}: ${kind}: ${name}`, body, () => send(body));
  }
  for (const [name, fault, body] of faultyBodies()) {
    const { send } = await prepare(name);
    await measure(`five megabytes with ${fault}: ${name}`, body, () => send(body));
  }
}

async function messages(): Promise<void> {
  const config = { ...cluster.config, mcp: { ...cluster.config.mcp, port: 0 } };
  await using mcp = await startMCP({ config, logger: cluster.context.logger, context: cluster.context });
  const names = hostile('many keys', LARGE);
  const params = {
    'names of arguments': `{"name":"execute_workflow","arguments":${names}}`,
    'fields of _meta': `{"_meta":${names}}`,
  };
  for (const [what, text] of Object.entries(params)) {
    const method = what === 'fields of _meta' ? 'tools/list' : 'tools/call';
    const body = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${text}}`;
    const url = `http://127.0.0.1:${mcp.port}/tenants/${tenant.id}/mcp`;
    const accept = 'application/json, text/event-stream';
    await measure(
      `a message of MCP with many ${what}`,
      body,
      async () => void (await post(url, body, tenant, { accept })),
    );
  }
}

async function files(): Promise<void> {
  for (const unit of ['a', '< ']) {
    const form = new FormData();
    form.append('file', new Blob([unit.repeat(9_900_000 / unit.length)]), 'a.txt');
    const url = `${cluster.baseURL}/api/v1/tenants/${tenant.id}/widgets/upload`;
    const headers = { authorization: `Bearer ${await cluster.tokenFor(tenant.creator)}` };
    const upload = async () => void (await (await fetch(url, { method: 'POST', headers, body: form })).arrayBuffer());
    await measure(`a file of ten megabytes of ${JSON.stringify(unit)}`, hostile('many keys', SMALL), upload);
  }
}

async function bundles(): Promise<void> {
  for (const [name, make] of Object.entries(largeBundles)) {
    const own = await aTenant(cluster);
    const send = (path: string, body: string) => post(`${cluster.baseURL}/api/v1/tenants/${own.id}/${path}`, body, own);
    const items = make();
    const body = textOf(items);
    for (const path of ['import/preview', 'import/plan'])
      await measure(`${path} of ${name}`, body, async () => void (await send(path, body)));
    if (name !== 'large widgets' && !name.startsWith('a workflow')) continue;
    await measure(`import/execute of ${name}`, body, async () => void (await send('import/execute', textOf(make()))));
    await send('import/execute', body);
    const texts = [textOf(changed(items)), body];
    await measure(`import/apply of ${name}`, body, async () => {
      const [next = ''] = texts;
      texts.reverse();
      const [, token] = /"token":"(\w+)"/.exec((await send('import/plan', next)).toString()) ?? [];
      await send('import/apply', `{"token":"${token}",${next.slice(1)}`);
    });
    const { rows } = await cluster.pool.query(
      'select type, asset_id as id from bundle_key where key = any($1::uuid[])',
      [items.map(({ id }) => id)],
    );
    await measure(`export of ${name}`, body, async () => void (await send('export', JSON.stringify({ items: rows }))));
  }
}

function textOf(items: ReturnType<typeof changed>): string {
  return JSON.stringify({ bundle: { bundleVersion: 1, items } });
}

async function measure(figure: string, json: string, work: () => Promise<void>): Promise<void> {
  const floor = costOfJSON(json);
  // Garbage of making the body is collected in a round of its own.
  await nextRound();
  print(figure, await longestHold(3 * floor, work), floor);
}

function print(figure: string, value: number, floor: number): void {
  process.stdout.write(`${JSON.stringify({ figure, value, floor } satisfies PrintedFigure)}\n`);
}

async function prepare(name: string) {
  const route: Route | undefined = routes.find((candidate) => nameOf(candidate) === name);
  if (!route) throw new Error(`There is no route ${name}`);
  const params = await makeParams(cluster, route, tenant);
  const token = route.realm === 'operator' ? operator.token : await cluster.tokenFor(tenant.creator);
  const path = route.path.replace(/:(\w+)/g, (_match, name: string) => encodeURIComponent(params[name] ?? ''));
  const send = async (body: string) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const init = { method: route.method.toUpperCase(), headers, body };
    const response = await fetch(cluster.baseURL + path + queryFixture(nameOf(route)), init);
    const answer = await response.text();
    // 502: no datasource may reach the servers of this process.
    if (response.status >= 500 && response.status !== 502)
      throw new Error(`${name} answered ${response.status} ${answer.slice(0, 300)}`);
  };
  return { send, spots: spotsIn(route, bodyOf(route, params)) };
}

/** Answers with the bytes: parsing a large answer would hold the loop as well. */
async function post(url: string, body: string, who: TestTenant, more: Record<string, string> = {}): Promise<Buffer> {
  const authorization = `Bearer ${await cluster.tokenFor(who.creator)}`;
  const headers = { authorization, 'content-type': 'application/json', ...more };
  const response = await fetch(url, { method: 'POST', headers, body });
  if (response.status >= 500) throw new Error(`${url} answered ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}

function hostile(kind: string, bytes: number): string {
  return hostileValues[kind]?.(bytes) ?? '';
}

function costOfJSON(text: string): number {
  return leastCostOf(() => JSON.stringify(JSON.parse(text)));
}

/** So many of a list, from its beginning to its end, or all. */
function spread<T>(list: readonly T[], count: number, from: number): T[] {
  const step = Math.max(1, list.length / count);
  return list.filter((_item, index) => (index + from) % step < 1);
}
