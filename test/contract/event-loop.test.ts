import { afterAll, beforeAll, beforeEach, describe, expect, type MockInstance, test, vi } from 'vitest';
import { routes } from '#api/app/routes.ts';
import type { MCP } from '#api/mcp/listen.ts';
import { eventLoop } from '#shared/concurrency/event-loop-scheduler.ts';
import { startMCPOf } from '#test/support/mcp.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { anOperator, aTenant, type TestOperator, type TestTenant } from '../support/factories.ts';
import { hostileValues, spotsIn } from '../support/hostile-bodies.ts';
import { faultyBodies, hostileFields } from '../support/hostile-requests.ts';
import { changed, largeBundles } from '../support/large-bundles.ts';
import { bodyOf, makeParams, nameOf } from '../support/route-calls.ts';
import { loginFixture, queryFixture } from '../support/route-fixtures.ts';
import { sample, seedOf } from '../support/sample.ts';

/** Work on large and hostile requests lets the event loop turn. How long each holds it is measured by `npm run bench HOLDS`. */
let cluster: Cluster;
let tenant: TestTenant;
let operator: TestOperator;
let pauses: MockInstance<typeof eventLoop.yield>;

beforeAll(async () => {
  cluster = await startCluster({ settings: { USER_REQUESTS_PER_MINUTE: '0' } });
  tenant = await aTenant(cluster);
  operator = await anOperator(cluster, loginFixture);
});
afterAll(() => cluster[Symbol.asyncDispose]());
beforeEach(() => {
  pauses = vi.spyOn(eventLoop, 'yield');
  return () => pauses.mockRestore();
});

const kinds = Object.keys(hostileValues);
const SMALL = 500_000;
const LARGE = 5_000_000;

/** The parser and the check of what it has read have rounds of their own; a long check pauses within. */
const FIXED_PAUSES = 2;
const BEYOND_LIMIT = 'must not have more than';

describe('half a megabyte', () => {
  const withBodies = routes.filter(({ body }) => body).map(nameOf);

  test.each([...sample(withBodies, { name: 'hostile body', oneOf: 24 })])(
    'in a place of the body of %s',
    async (name) => {
      const { send, locations } = await prepare(name);
      const draw = Math.abs(seedOf(name));
      const location = locations[draw % locations.length];

      await send(location?.fill(hostile(kinds[draw % kinds.length] ?? '', SMALL)) ?? '');
    },
  );
});

describe('five megabytes', () => {
  test.each([...sample(hostileFields, { name: 'hostile field', oneOf: 10 })])(
    'of %s %s: %s',
    async (name, at, kind) => {
      const { send, locations } = await prepare(name);
      const location = locations.find((candidate) => candidate.name === at);

      const answer = await send(location?.fill(hostile(kind, LARGE)) ?? '');

      // A limit is found before the text is parsed, in the first of its pieces.
      if (!answer.includes(BEYOND_LIMIT)) expect(pauses.mock.calls.length).toBeGreaterThan(FIXED_PAUSES);
    },
  );

  test.each([...sample(faultyBodies(), { name: 'faulty body', oneOf: 8 })])(
    'of %s with %s',
    async (name, _fault, body) => {
      const { send } = await prepare(name);

      const answer = await send(body);

      if (!answer.includes(BEYOND_LIMIT)) expect(pauses.mock.calls.length).toBeGreaterThan(FIXED_PAUSES);
    },
  );

  test('and a megabyte of a comparison of two versions that differ at the bottom', async () => {
    const api = cluster.as(tenant.creator).in(tenant);
    const { workflowID: id = '' } = await makeParams(cluster, routeNamed('diffWorkflowVersion'), tenant);
    const { rows } = await cluster.pool.query<{ id: string }>(
      `insert into workflow_version (id, tenant_id, workflow_id, number, nodes, edges, options, created_at)
       select gen_random_uuid(), $1, $2, 1000 + n, jsonb_build_array(jsonb_build_object('id', 'a', 'config',
         jsonb_build_object('b', jsonb_build_object('c', jsonb_build_array($3::jsonb, n))))), '[]', '{}', now()
       from generate_series(1, 2) n returning id`,
      [tenant.id, id, hostile('small objects', 2 * SMALL)],
    );

    const { body } = await api.get(`T/workflows/${id}/versions/${rows[1]?.id}/diff`);

    expect(body.diff.nodes.changed).toEqual([{ id: 'a', paths: [['config', 'b', 'c', 1]] }]);
  });
});

describe('a large message to the MCP service', () => {
  let mcp: MCP;
  beforeAll(async () => {
    mcp = await startMCPOf(cluster);
  });
  afterAll(() => mcp[Symbol.asyncDispose]());

  const messageOf = (method: string, params: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`;
  const names = hostile('many keys', SMALL / 2);
  const calling = (params: string) => messageOf('tools/call', params);

  test.each([
    [
      'names of arguments',
      calling(`{"name":"execute_workflow","arguments":${names}}`),
      'arguments: a tool has at most',
    ],
    [
      'names of arguments of a call by call_tool',
      calling(`{"name":"call_tool","arguments":{"name":"execute_workflow","arguments":${names}}}`),
      'arguments: a tool has at most',
    ],
    ['parameters', messageOf('tools/list', `{"a":1,${names.slice(1, -1)}}`), 'message: has more than'],
    ['fields of _meta', messageOf('tools/list', `{"_meta":${names}}`), 'message: has more than'],
  ])('with many %s is refused', async (_where, body, answer) => {
    const { text } = await post(`http://127.0.0.1:${mcp.port}/tenants/${tenant.id}/mcp`, body, tenant);

    expect(text).toContain(answer);
  });
});

test('a file of ten megabytes of what might begin a tag', async () => {
  const headers = { authorization: `Bearer ${await cluster.tokenFor(tenant.creator)}` };
  const form = new FormData();
  form.append('file', new Blob(['< '.repeat(4_950_000)]), 'a.txt');

  const path = `${cluster.baseURL}/api/v1/tenants/${tenant.id}/widgets/upload`;
  const { status } = await fetch(path, { method: 'POST', headers, body: form });

  expect(status).toBe(201);
  expect(pauses).toHaveBeenCalled();
});

describe('a large bundle', () => {
  const textOf = (items: ReturnType<typeof changed>) => JSON.stringify({ bundle: { bundleVersion: 1, items } });

  async function importing() {
    const own = await aTenant(cluster);
    return (path: string, body: string) => post(`${cluster.baseURL}/api/v1/tenants/${own.id}/${path}`, body, own);
  }

  test.each([...sample(Object.entries(largeBundles), { name: 'bundle', oneOf: 5 })])(
    'of %s, planned',
    async (_name, make) => {
      const send = await importing();

      expect((await send('import/plan', textOf(make()))).status).toBeLessThan(500);
      expect(pauses.mock.calls.length).toBeGreaterThan(FIXED_PAUSES);
    },
  );

  test('of large widgets, imported, changed, planned, applied and exported', async () => {
    const send = await importing();
    const items = largeBundles['large widgets']().slice(0, 8);
    const paused: Record<string, number> = {};
    async function step(name: string, body: string): Promise<string> {
      pauses.mockClear();
      const { status, text } = await send(name, body);
      expect(status, text.slice(0, 500)).toBeLessThan(300);
      paused[name] = pauses.mock.calls.length;
      return text;
    }

    await step('import/execute', textOf(items));
    const later = textOf(changed(items));
    const [, token] = /"token":"(\w+)"/.exec(await step('import/plan', later)) ?? [];
    await step('import/apply', `{"token":"${token}",${later.slice(1)}`);
    const { rows } = await cluster.pool.query(
      'select type, asset_id as id from bundle_key where key = any($1::uuid[])',
      [items.map(({ id }) => id)],
    );
    await step('export', JSON.stringify({ items: rows }));

    for (const [name, count] of Object.entries(paused)) expect(count, name).toBeGreaterThan(0);
  });
});

function routeNamed(name: string) {
  const route = routes.find((candidate) => candidate.name === name || nameOf(candidate) === name);
  if (!route) throw new Error(`There is no route ${name}`);
  return route;
}

async function prepare(name: string) {
  const route = routeNamed(name);
  const params = await makeParams(cluster, route, tenant);
  const token = route.realm === 'operator' ? operator.token : await cluster.tokenFor(tenant.creator);
  const path = route.path.replace(/:(\w+)/g, (_match, param: string) => encodeURIComponent(params[param] ?? ''));
  const send = async (body: string) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const init = { method: route.method.toUpperCase(), headers, body };
    const response = await fetch(cluster.baseURL + path + queryFixture(name), init);
    const answer = await response.text();
    expect(response.status, answer).toBeLessThan(500);
    return answer;
  };
  return { send, locations: spotsIn(route, bodyOf(route, params)) };
}

async function post(url: string, body: string, { creator }: TestTenant): Promise<{ status: number; text: string }> {
  const authorization = `Bearer ${await cluster.tokenFor(creator)}`;
  const accept = 'application/json, text/event-stream';
  const headers = { authorization, 'content-type': 'application/json', accept };
  const response = await fetch(url, { method: 'POST', headers, body });
  return { status: response.status, text: await response.text() };
}

function hostile(kind: string, bytes: number): string {
  return hostileValues[kind]?.(bytes) ?? '';
}
