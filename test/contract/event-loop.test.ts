import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Route } from '#api/http/route.ts';
import { type MCP, startMCP } from '#api/mcp/listen.ts';
import { routes } from '#api/resources/index.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { leastCostOf, longestHold } from '../support/event-loop.ts';
import { anOperator, aTenant, type TestOperator, type TestTenant } from '../support/factories.ts';
import { hostileValues, placesIn } from '../support/hostile-bodies.ts';
import { changed, largeBundles } from '../support/large-bundles.ts';
import { bodyOf, makeParams, nameOf } from '../support/route-calls.ts';
import { loginFixture, queryFixture } from '../support/route-fixtures.ts';

/**
 * How long a request holds the event loop, of the API and of the worker that it asks: both are in this process. The measure is
 * processor time; its scale is what parsing and writing JSON takes in the same run, so that a loaded machine changes nothing.
 */
let cluster: Cluster;
let tenant: TestTenant;
let operator: TestOperator;

beforeAll(async () => {
  cluster = await startCluster({ settings: { USER_REQUESTS_PER_MINUTE: '0' } });
  tenant = await aTenant(cluster);
  operator = await anOperator(cluster, loginFixture);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const kinds = Object.keys(hostileValues);
const SMALL = 500_000;
const LARGE = 5_000_000;
/** Places of a body that are tried, each with one of the values: all of them would take an hour. `HOSTILE_DRAW=7` tries others. */
const PLACES = 3;
const draw = Number(process.env.HOSTILE_DRAW ?? 0);
const made = new Map<string, string>();

/** About 20 ms on an idle machine: half a megabyte of an object with many keys. */
const unit = costOfJSON(hostile('many keys', SMALL));
const MAX_SMALL = 2.5 * unit;

const withBodies = routes.filter(({ body }) => body).map((route, nth) => [nameOf(route), route, nth] as const);

describe('half a megabyte', () => {
  test.each(withBodies)('in any place of the body of %s does not hold up other requests', async (_name, route, nth) => {
    const { send, places } = await prepare(route);
    const slow: string[] = [];
    for (const [at, place] of spread(places, PLACES, draw).entries()) {
      const kind = kinds[(nth * PLACES + at + draw) % kinds.length] ?? '';
      const ms = await longestHold(MAX_SMALL, () => send(place.fill(hostile(kind, SMALL))));
      if (ms > MAX_SMALL) slow.push(`${place.name}: ${kind}: ${ms.toFixed()} ms`);
    }
    expect(slow, `HOSTILE_DRAW=${draw}`).toEqual([]);
  });

  test.each([
    ['patch /api/v1/tenants/:tenantID/dashboards/:dashboardID', '.dashboardConfig{}'],
    ['patch /api/v1/tenants/:tenantID/app-pages/:appPageID', '.appPageConfig{}'],
  ])('of keys in what %s stores, compares and records does not either', async (name, at) => {
    const { send, places } = await prepare(routes.find((route) => nameOf(route) === name));
    const place = places.find((candidate) => candidate.name === at);
    const value = hostile('many keys of objects', SMALL);
    const max = 3 * costOfJSON(value);

    expect(await longestHold(max, () => send(place?.fill(value) ?? ''))).toBeLessThan(max);
  });
});

describe('five megabytes', () => {
  test.each([
    ['post /api/v1/auth/config/:tenantID', '.config', 'many keys of objects'],
    ['post /api/v1/auth/config/:tenantID', '.config{}', 'empty lists'],
    ['post /api/v1/tenants/:tenantID/queries', '.dataQueryOptions', 'many keys of templates'],
    ['post /api/v1/tenants/:tenantID/queries', '.dataQueryOptions{}', 'small objects'],
    ['post /api/v1/auth/config/:tenantID', '.config{}', 'long numbers'],
    ['post /api/v1/tenants/:tenantID/workflows', '.nodes', 'empty objects'],
    ['post /api/v1/tenants/:tenantID/workflows', '<condition>.branches', 'small objects'],
    ['post /api/v1/tenants/:tenantID/workflows', '<switch>.cases', 'small objects'],
    ['post /api/v1/tenants/:tenantID/datasources', '<restapi>.headers', 'small objects'],
  ])('of %s %s: %s', async (name, at, kind) => {
    const route = routes.find((candidate) => nameOf(candidate) === name);
    const { send, places } = await prepare(route);
    const place = places.find((candidate) => candidate.name === at);
    const value = hostile(kind, LARGE);
    const max = 3 * costOfJSON(value);

    expect(await longestHold(max, () => send(place?.fill(value) ?? ''))).toBeLessThan(max);
  });

  test('of 1,000 items of a bulk execution', async () => {
    const route = routes.find(({ name }) => name === 'executeWorkflowBulk');
    const { send } = await prepare(route);
    const args = Object.fromEntries(Array.from({ length: 250 }, (_, n) => [`key${n}`, 'x'.repeat(8)]));
    const value = JSON.stringify({
      items: Array.from({ length: 1_000 }, (_, n) => ({ args, idempotencyKey: `k${n}` })),
    });
    const max = 3 * costOfJSON(value);

    expect(await longestHold(max, () => send(value))).toBeLessThan(max);
  });

  const rowsPath = '/api/v1/tenants/:tenantID/database/schemas/:databaseSchemaName/tables/:databaseTableName/rows';
  const many = (unit: (n: number) => string, count: number) =>
    Array.from({ length: count }, (_, n) => unit(n)).join(',');
  const padding = 'x'.repeat(900);

  test.each([
    [`patch ${rowsPath}/delete`, 'a list in a filter', `{"where":{"id":{"in":[${many(String, 700_000)}]}}}`],
    [
      `patch ${rowsPath}/delete`,
      'a list of conditions',
      `{"where":{"OR":[${many((n) => `{"id":{"=":${n}}}`, 250_000)}]}}`,
    ],
    [`post ${rowsPath}`, 'rows that are none', `{"databaseTableRowData":[${many(() => '1', 2_400_000)}]}`],
    [
      'post /api/v1/tenants/:tenantID/workflows',
      'nodes of which each is at fault, in several ways',
      `{"title":"x","nodes":[${many((n) => `{"id":"n${n}","type":"condition","config":{"a":"${padding}"}}`, 5_000)}],"edges":[]}`,
    ],
    [
      'post /api/v1/tenants/:tenantID/workflows',
      'edges between nodes that are not there',
      `{"title":"x","nodes":[{"id":"a","type":"start"}],"edges":[${many((n) => `{"id":"e${n}","source":"s${n}","target":"t${n}","label":"${padding.slice(0, 180)}"}`, 20_000)}]}`,
    ],
    [
      'post /api/v1/tenants/:tenantID/workflows/:workflowID/execute/bulk',
      'items that are at fault',
      `{"items":[${many(() => `{"args":1,"tags":[${many(String, 1_000)}]}`, 1_000)}]}`,
    ],
  ])('of %s with %s', async (name, _fault, value) => {
    const { send } = await prepare(routes.find((route) => nameOf(route) === name));
    const max = 3 * costOfJSON(value);

    expect(await longestHold(max, () => send(value))).toBeLessThan(max);
  });

  test('of a comparison of two versions that differ at the bottom', async () => {
    const api = cluster.as(tenant.creator).in(tenant);
    const parts = hostile('small objects', LARGE - 1_000);
    const { workflowID: id = '' } = await makeParams(cluster, routeNamed('diffWorkflowVersion'), tenant);
    const { rows } = await cluster.pool.query<{ id: string }>(
      `insert into workflow_version (id, tenant_id, workflow_id, number, nodes, edges, options, created_at)
       select gen_random_uuid(), $1, $2, 1000 + n, jsonb_build_array(jsonb_build_object('id', 'a', 'config',
         jsonb_build_object('b', jsonb_build_object('c', jsonb_build_array($3::jsonb, n))))), '[]', '{}', now()
       from generate_series(1, 2) n returning id`,
      [tenant.id, id, parts],
    );
    const versionID = rows[1]?.id;
    const max = 3 * costOfJSON(parts);

    const hold = await longestHold(max, async () => {
      const { body } = await api.get(`T/workflows/${id}/versions/${versionID}/diff`);
      expect(body.diff.nodes.changed).toEqual([{ id: 'a', paths: [['config', 'b', 'c', 1]] }]);
    });
    expect(hold).toBeLessThan(max);
  });
});

describe('a message of five megabytes to the MCP service', () => {
  let mcp: MCP;
  beforeAll(async () => {
    const config = { ...cluster.config, mcp: { ...cluster.config.mcp, port: 0 } };
    mcp = await startMCP({ config, logger: cluster.context.logger, context: cluster.context });
  });
  afterAll(() => mcp[Symbol.asyncDispose]());

  async function send(text: string): Promise<string> {
    const response = await fetch(`http://127.0.0.1:${mcp.port}/tenants/${tenant.id}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await cluster.tokenFor(tenant.creator)}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: text,
    });
    return response.text();
  }

  const messageOf = (method: string, params: string, more = '') =>
    `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}${more}}`;
  const call = (args: string) => messageOf('tools/call', `{"name":"execute_workflow","arguments":${args}}`);
  const names = hostile('many keys', LARGE);
  const ofOther = `,${names.slice(1, -1)}`;
  const max = 3 * costOfJSON(names);

  test.each([
    ['names of arguments', call(names), 'arguments: a tool has at most'],
    [
      'names of arguments of a call by call_tool',
      messageOf('tools/call', `{"name":"call_tool","arguments":{"name":"execute_workflow","arguments":${names}}}`),
      'arguments: a tool has at most',
    ],
    ['parameters', messageOf('tools/list', `{"a":1${ofOther}}`), 'message: has more than'],
    ['fields of _meta', messageOf('tools/list', `{"_meta":${names}}`), 'message: has more than'],
  ])('with many %s', async (_where, text, answer) => {
    const answers: string[] = [];

    const hold = await longestHold(max, async () => answers.push(await send(text)));

    expect(hold).toBeLessThan(max);
    expect(answers[0]).toContain(answer);
  });
});

describe('a file of ten megabytes', () => {
  test.each([
    ['letters', 'a'],
    ['what might begin a tag', '< '],
  ])('that consists of %s', async (_what, unit) => {
    const text = unit.repeat(9_900_000 / unit.length);
    const path = `${cluster.baseURL}/api/v1/tenants/${tenant.id}/widgets/upload`;
    const headers = { authorization: `Bearer ${await cluster.tokenFor(tenant.creator)}` };
    const form = new FormData();
    form.append('file', new Blob([text]), 'a.txt');

    const hold = await longestHold(MAX_SMALL, async () => {
      const response = await fetch(path, { method: 'POST', headers, body: form });
      expect(response.status).toBe(201);
    });
    expect(hold).toBeLessThan(MAX_SMALL);
  });
});

describe('a bundle of five megabytes', () => {
  type Items = ReturnType<typeof changed>;
  const textOf = (items: Items) => JSON.stringify({ bundle: { bundleVersion: 1, items } });
  const all = Object.entries(largeBundles);
  const saved = all.filter(([name]) => name === 'large widgets' || name.startsWith('a workflow'));

  async function prepareTenant() {
    const own = await aTenant(cluster);
    const token = await cluster.tokenFor(own.creator);
    return async (path: string, body: string) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const response = await fetch(`${cluster.baseURL}/api/v1/tenants/${own.id}/${path}`, {
        ...{ method: 'POST', headers, body },
      });
      // Parsing a large answer would hold the loop as well.
      return { status: response.status, text: Buffer.from(await response.arrayBuffer()) };
    };
  }

  function maxFor(items: Items): number {
    const value = textOf(items);
    return 3 * costOfJSON(value);
  }

  test.each(all)('of %s, previewed and planned', async (_name, make) => {
    const post = await prepareTenant();
    const items = make();
    const body = textOf(items);
    const max = maxFor(items);

    for (const path of ['import/preview', 'import/plan'])
      expect(await longestHold(max, () => post(path, body)), path).toBeLessThan(max);
  });

  test.each(saved)('of %s, imported, changed, planned, applied and exported', async (_name, make) => {
    const post = await prepareTenant();
    const max = maxFor(make());
    const imported: Items[] = [];
    const holdOf = (work: () => Promise<{ status: number; text: Buffer }>) =>
      longestHold(max, async () => {
        const { status, text } = await work();
        expect(status, text.subarray(0, 500).toString()).toBeLessThan(300);
      });

    const hold = await holdOf(async () => {
      const items = make();
      imported.push(items);
      const body = textOf(items);
      // What the test itself takes is measured apart.
      await nextTurn();
      return post('import/execute', body);
    });
    expect(hold, 'execute').toBeLessThan(max);

    const [items = []] = imported;
    const bodies = [changed(items), items].map((each) => textOf(each));
    const apply = await holdOf(async () => {
      const [next = ''] = bodies;
      bodies.reverse();
      const { text } = await post('import/plan', next);
      const [, token] = /"token":"(\w+)"/.exec(text.toString()) ?? [];
      return post('import/apply', `{"token":"${token}",${next.slice(1)}`);
    });
    expect(apply, 'apply').toBeLessThan(max);

    const { rows } = await cluster.pool.query(
      'select type, asset_id as id from bundle_key where key = any($1::uuid[])',
      [items.map(({ id }) => id)],
    );
    const exported = JSON.stringify({ items: rows });
    expect(await holdOf(() => post('export', exported)), 'export').toBeLessThan(max);
  });
});

function routeNamed(name: string): Route {
  const route = routes.find((candidate) => candidate.name === name);
  if (!route) throw new Error(`There is no route ${name}`);
  return route;
}

async function prepare(route: Route | undefined) {
  if (!route) throw new Error('There is no such route');
  const params = await makeParams(cluster, route, tenant);
  const token = route.realm === 'operator' ? operator.token : await cluster.tokenFor(tenant.creator);
  const path = route.path.replace(/:(\w+)/g, (_match, name: string) => encodeURIComponent(params[name] ?? ''));
  const send = async (body: string) => {
    const response = await fetch(cluster.baseURL + path + queryFixture(nameOf(route)), {
      method: route.method.toUpperCase(),
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body,
    });
    await response.arrayBuffer();
    expect(response.status).toBeLessThan(500);
  };
  return { send, places: placesIn(route, bodyOf(route, params)) };
}

function hostile(kind: string, bytes: number): string {
  const name = `${kind} ${bytes}`;
  const text = made.get(name) ?? hostileValues[kind]?.(bytes) ?? '';
  made.set(name, text);
  return text;
}

function costOfJSON(text: string): number {
  return leastCostOf(() => JSON.stringify(JSON.parse(text)));
}

/** So many of a list, from its beginning to its end, or all. */
function spread<T>(list: readonly T[], count: number, from: number): T[] {
  const step = Math.max(1, list.length / count);
  return list.filter((_item, index) => (index + from) % step < 1);
}
