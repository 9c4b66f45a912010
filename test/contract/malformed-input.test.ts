import { connect } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import { changeRules } from '#shared/access/policy/change.ts';
import { newID } from '#shared/core/ids.ts';
import type { Client } from '../support/client.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import {
  anApiKey,
  anOperator,
  aTenant,
  aWorkflow,
  type TestKey,
  type TestOperator,
  type TestTenant,
} from '../support/factories.ts';
import { fromSchema, type JsonSchema, nasty, spoiled } from '../support/from-schema.ts';
import { queuesOfRoutes } from '../support/route-calls.ts';
import { paramFixture } from '../support/route-fixtures.ts';
import { sample, seedOf, takesAll } from '../support/sample.ts';

/**
 * Sends every operation of the OpenAPI document input that is generated from its schemas and then malformed. Each answer must have
 * a known code, not be a 500, and hold no data of another tenant.
 */
/** Requests to each operation. R9 of the reliability tests asks for 10,000 in all. */
const cases = takesAll ? 35 : 16;
const atOnce = 8;
const seed = seedOf('malformed input');
const marker = `only-theirs-${newID()}`;

/** Valid values that no JSON schema describes, or that are generated too rarely: a URL, a file, an address. */
const untold = new Set([
  'patch /api/v1/tenants/dbtest',
  'post /api/v1/tenants/{tenantID}/upload-logo',
  'post /api/v1/operator/auth/login',
]);

interface Operation {
  method: string;
  path: string;
  parameters: { name: string; in: string; schema: JsonSchema }[];
  body: JsonSchema | undefined;
  isForOperators: boolean;
  isForKeys: boolean;
}

let cluster: Cluster;
let mine: TestTenant;
let theirs: TestTenant;
let operator: TestOperator;
let key: TestKey;
let operations: Operation[];
let definitions: Record<string, JsonSchema>;

beforeAll(async () => {
  // No workflow runs: the input is checked by the API, and by the workers that answer its asks.
  cluster = await startCluster({
    workers: queuesOfRoutes,
    settings: { API_KEY_REQUESTS_PER_MINUTE: '0' },
  });
  [mine, theirs] = [await aTenant(cluster), await aTenant(cluster, { tenantTitle: marker })];
  operator = await anOperator(cluster);
  const workflow = await aWorkflow(cluster, { tenant: theirs, title: marker });
  const them = cluster.as(theirs.creator).in(theirs);
  await them.post(`T/workflows/${workflow.id}/execute`, { args: { marker } });
  await anApiKey(cluster, { tenant: theirs });
  key = await anApiKey(cluster, { tenant: mine });
  const em = tenantEntityManager(cluster.context.orm.em, mine.id);
  await changeRules(em, mine.id, { add: [{ subject: key.id, object: '*', action: '*' }] });
  const { body } = await cluster.as(undefined).get('/openapi.json');
  operations = readOperations(body);
  definitions = body.components.schemas ?? {};
});
afterAll(() => cluster[Symbol.asyncDispose]());

test("malformed requests, none of them answered with a 500 or another tenant's data", async () => {
  const neverPast: string[] = [];
  const drawn = sample(operations, { name: 'malformed input', oneOf: 14 });
  for (const operation of drawn) {
    const counts: Record<number, number> = {};
    // One of the operations ends the session, another one sets quotas.
    operator = await anOperator(cluster);
    await cluster.context.orm.em.fork().execute('delete from quota');
    const requests = fc.sample(await requestOf(operation), { numRuns: cases, seed });
    for (let n = 0; n < requests.length; n += atOnce) {
      const batch = requests.slice(n, n + atOnce);
      // A client that hears nothing may send the same again while the first is being served.
      const twin = batch.slice(0, 1);
      await Promise.all(
        [...batch, ...twin].map(async (request, index) => {
          const status = await check(operation, request, index % 2 === 0);
          counts[status] = (counts[status] ?? 0) + 1;
        }),
      );
    }
    // The generator is useful only while some of its input passes the schemas of each operation and some does not.
    const { method, path, body } = operation;
    const what = `seed ${seed}: ${method} ${path} ${JSON.stringify(counts)}`;
    const { 400: malformed = 0, 413: _tooLarge, ...pastSchemas } = counts;
    if (Object.keys(pastSchemas).length === 0 && !untold.has(`${method} ${path}`)) neverPast.push(what);
    if (body) expect(malformed, what).toBeGreaterThan(cases / 20);
  }
  // With sixteen cases each, an operation may by chance miss one of the two; of a few operations, a larger part may.
  expect(neverPast.length, neverPast.join('\n')).toBeLessThanOrEqual(2 + drawn.length / (takesAll ? 20 : 6));
}, 300_000);

test('an operation with a body refuses one above the size limit', async () => {
  const large = JSON.stringify({ title: 'x'.repeat(5 * 1024 * 1024 + 1) });
  await cluster.context.orm.em.fork().execute('delete from quota');
  const withBody = operations.filter(({ body }) => body);
  for (const operation of sample(withBody, { name: 'too large', oneOf: 40 })) {
    const { method, path } = operation;
    operator = await anOperator(cluster);
    const own = await idsOf(path, mine);
    const answer = await clientFor(operation).request(method, fill(path, own), large);
    expect(answer, `${method} ${path}`).toMatchObject({ status: 413, body: { error: { code: 'PAYLOAD_TOO_LARGE' } } });
  }
});

interface Request {
  path: string;
  query: string;
  body: string | undefined;
  headers: Record<string, string>;
}

async function check(operation: Operation, { path, query, body, headers }: Request, withKey: boolean): Promise<number> {
  const what = () =>
    `seed ${seed}: ${operation.method} ${path.slice(0, 300)}${query.slice(0, 300)} ${body?.slice(0, 500)} ${JSON.stringify(headers)}`;
  // No worker ends the run that its answer waits for.
  const noWait = path.endsWith('/shadow-replay') && !query.includes('wait=') ? `${query ? '&' : '?'}wait=0` : '';
  const answer = await clientFor(operation, withKey).request(operation.method, path + query + noWait, body, headers);
  // an image, a page, a file, a stream, lines of JSON, a redirect, or an answer without content has no envelope.
  const type = answer.headers.get('content-type') ?? '';
  const isFile =
    /^(?:image\/|text\/html|text\/event-stream|application\/(?:jsonl|octet-stream))/.test(type) ||
    answer.headers.has('content-disposition') ||
    answer.status === 302 ||
    answer.status === 204;
  // An unreachable datasource is a valid outcome.
  const isUpstream = String(answer.body?.error?.code).startsWith('UPSTREAM_');
  if ((answer.status >= 500 && !isUpstream) || !(isFile || typeof answer.body?.success === 'boolean'))
    throw new Error(`${answer.status} ${JSON.stringify(answer.body).slice(0, 500)}\n${what()}`);
  if (!isFile && answer.body.success === false && typeof answer.body.error?.code !== 'string')
    throw new Error(`No error code: ${JSON.stringify(answer.body).slice(0, 500)}\n${what()}`);
  // Operators see the tenants of all.
  const seesAll = path.startsWith('/api/v1/operator/');
  if (!seesAll && JSON.stringify(answer.body).includes(marker)) throw new Error(`Another tenant's data\n${what()}`);
  return answer.status;
}

function clientFor({ isForOperators, isForKeys }: Operation, withKey = false): Client {
  if (isForKeys && withKey) return cluster.withKey(key);
  return isForOperators ? cluster.asOperator(operator) : cluster.as(mine.creator);
}

/** A quarter is drawn without anything spoiled, since with many parameters one of them nearly always would be. */
async function requestOf(operation: Operation): Promise<fc.Arbitrary<Request>> {
  const [whole, spoiled] = [await wholeRequestOf(operation), await spoiledRequestOf(operation)];
  return fc.oneof({ weight: 1, arbitrary: whole }, { weight: 3, arbitrary: spoiled });
}

async function wholeRequestOf({ method, path, parameters, body }: Operation): Promise<fc.Arbitrary<Request>> {
  const ids = await idsOf(path, method === 'delete' && path.endsWith('{tenantID}') ? theirs : mine);
  const query = parameters
    .filter((parameter) => parameter.in === 'query')
    .map(({ name, schema }) => fc.tuple(fc.constant(name), fc.option(queryValue(name, schema), { nil: undefined })));
  const bodies = body ? fromSchema(body, definitions).map((value) => JSON.stringify(value)) : fc.constant(undefined);
  return fc.tuple(fc.tuple(...query), bodies).map(([query, body]) => ({
    path: fill(path, ids),
    query: queryString(query),
    body,
    headers: {},
  }));
}

async function spoiledRequestOf(operation: Operation): Promise<fc.Arbitrary<Request>> {
  const { method, path, parameters, body } = operation;
  const [own, other] = [await idsOf(path, mine), await idsOf(path, theirs)];
  const ids = Object.keys(own).map((name) => {
    const bad = [fc.constant(other[name]), fc.uuid(), nasty.map(asText)];
    // Deleting our own tenant would end the test.
    const isLast = method === 'delete' && path.endsWith('{tenantID}');
    return fc.tuple(
      fc.constant(name),
      isLast ? fc.oneof(...bad) : fc.oneof({ weight: 9, arbitrary: fc.constant(own[name]) }, ...bad),
    );
  });
  const query = parameters
    .filter((parameter) => parameter.in === 'query')
    .map(({ name, schema }) =>
      fc.tuple(fc.constant(name), fc.option(fc.oneof(queryValue(name, schema), nasty), { nil: undefined, freq: 2 })),
    );
  const valid = body && fromSchema(body, definitions);
  const bodies = valid
    ? fc.oneof(
        { weight: 4, arbitrary: valid.map((value) => JSON.stringify(value)) },
        { weight: 6, arbitrary: spoiled(valid).map((value) => JSON.stringify(value)) },
        { weight: 1, arbitrary: nasty.map((value) => JSON.stringify(value)) },
        { weight: 1, arbitrary: fc.string({ maxLength: 30 }).map((text) => `{"title":${text}`) },
      )
    : fc.constant(undefined);
  const headers = fc.record(
    {
      'idempotency-key': fc.constantFrom('a', 'b', 'x'.repeat(300), '%00'),
      'content-type': fc.constantFrom(
        'application/json',
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data',
        'application/json; charset=utf-7',
      ),
    },
    { requiredKeys: [] },
  );
  return fc
    .tuple(fc.tuple(...ids), fc.tuple(...query), bodies, fc.oneof({ weight: 5, arbitrary: fc.constant({}) }, headers))
    .map(([ids, query, body, headers]) => ({
      path: fill(path, Object.fromEntries(ids) as Record<string, string>),
      query: queryString(query),
      body,
      headers: headers as Record<string, string>,
    }));
}

function queryString(query: [string, unknown][]): string {
  return `?${new URLSearchParams(query.flatMap(([name, value]) => (value === undefined ? [] : [[name, asText(value)]])))}`;
}

/** There are no workers, so each wait would last until its time limit. */
function queryValue(name: string, schema: JsonSchema): fc.Arbitrary<unknown> {
  return name === 'wait' ? fc.constantFrom(0, -1, 61, 'long') : fromSchema(schema, definitions);
}

async function idsOf(path: string, tenant: TestTenant): Promise<Record<string, string>> {
  const ids: Record<string, string> = {};
  for (const [, name = ''] of path.matchAll(/\{(\w+)\}/g)) ids[name] = await paramFixture(name)(cluster, tenant);
  return ids;
}

function fill(path: string, ids: Record<string, string>): string {
  return path.replace(/\{(\w+)\}/g, (_match, name: string) => encodeURIComponent((ids[name] ?? '').toWellFormed()));
}

function asText(value: unknown): string {
  return (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).slice(0, 2_000).toWellFormed();
}

interface Document {
  paths: Record<
    string,
    Record<
      string,
      {
        parameters?: Operation['parameters'];
        security?: Record<string, unknown>[];
        requestBody?: { content?: { 'application/json'?: { schema: JsonSchema } } };
      }
    >
  >;
}

function readOperations({ paths }: Document): Operation[] {
  // A stream ends when the run of its fixture does.
  const others = Object.entries(paths).filter(([path]) => !path.endsWith('/instances/{instanceID}/stream'));
  return others.flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], security = [], requestBody }]) => ({
      method,
      path,
      parameters,
      body: requestBody?.content?.['application/json']?.schema,
      isForOperators: security.some((scheme) => 'operatorSession' in scheme),
      isForKeys: security.some((scheme) => 'apiKey' in scheme),
    })),
  );
}

test('a request that is not HTTP, or has a too long header, gets the error in the same envelope', async () => {
  const { port, hostname } = new URL(cluster.baseURL);
  for (const [sent, status] of [
    ['hello\r\n\r\n', 400],
    [`GET /health?${'x'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 431],
  ] as const) {
    const socket = connect(Number(port), hostname);
    socket.write(sent);
    const [head = '', body = ''] = (await readText(socket)).split('\r\n\r\n');
    expect(head).toContain(`HTTP/1.1 ${status} `);
    expect(JSON.parse(body)).toMatchObject({ success: false, error: { code: 'INVALID_REQUEST' } });
  }
});
