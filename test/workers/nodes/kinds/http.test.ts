import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { graph } from '#test/support/graphs.ts';
import { json, startHTTP } from '#test/support/http-server.ts';
import { eventually } from '#test/support/settle.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment();
  await deployment.startWorker();
});
afterAll(() => deployment[Symbol.asyncDispose]());

/** A text in a body of JSON: values are JSON, or escaped inside quotes. */
const SENT = '{"name": "A\\"B", "all": "Hi A\\"B", "tags": ["a",1]}';

const alone = (config: JsonObject) =>
  graph(
    {
      start: { type: 'start' },
      call: { type: 'http', outputVariable: 'answer', ...config },
      end: { type: 'end', outputParameters: [{ name: 'answer', sourceVariable: '{{ctx.answer}}' }] },
    },
    ['start>call', 'call:success>end'],
  );

async function run(config: JsonObject, input: JsonObject = {}) {
  const versionID = await deployment.saveVersion(alone(config));
  const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID, input));
  await deployment.settle();
  const events = await deployment.events(instanceID);
  return {
    instanceID,
    row: await deployment.read(instanceID),
    call: events.filter(({ node_id }) => node_id === 'call'),
  };
}

test('a request has its values, and the run gets the answer', async () => {
  await using server = await startHTTP();

  const { instanceID, row, call } = await run(
    {
      url: '{{ctx.input.base}}/users/{{ctx.input.id}}?q={{ctx.input.text}}',
      method: 'POST',
      headers: [{ key: 'X-Name', value: '{{ctx.input.text}}' }],
      queryParams: [{ key: 'page', value: '{{ctx.input.page}}' }],
      body: { text: '{{ctx.input.text}}', page: '{{ctx.input.page}}' },
    },
    { base: server.origin, id: 'a/b', text: 'x&y="', page: 3 },
  );

  expect(row.error).toBeNull();
  expect(server.seen).toEqual([
    expect.objectContaining({
      method: 'POST',
      url: '/users/a%2Fb?q=x%26y%3D%22&page=3',
    }),
  ]);
  expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual({ text: 'x&y="', page: 3 });
  expect(server.seen[0]?.headers).toMatchObject({ 'x-name': 'x&y="', 'idempotency-key': `${instanceID}.call.0` });
  expect(row.output).toMatchObject({ answer: { method: 'POST' } });
  expect(call.at(-1)).toMatchObject({ status: 'SUCCESS', exit: 'success' });
});

test.each<[type: string, body: Json, sent: string]>([
  ['json', '{"name": {{ctx.input.name}}, "all": "Hi {{ctx.input.name}}", "tags": {{ctx.input.tags}}}', SENT],
  ['json', '{{ctx.input.tags}}', '["a",1]'],
  ['json', '{{ctx.input.name}}', '"A\\"B"'],
  ['json', '{{ctx.input.none}}', ''],
  ['json', '[1, 2]', '[1, 2]'],
  ['json', ' ', ''],
  ['json', { name: '{{ctx.input.name}}' }, '{"name":"A\\"B"}'],
  ['form', '{"name": {{ctx.input.name}}}', 'name=A%22B'],
  ['form', '{{ctx.input.fields}}', 'x=1'],
  ['text', 'Hi {{ctx.input.name}}', 'Hi A"B'],
])('a body of the type %s, given as %j, is sent with its values in place', async (bodyType, body, sent) => {
  await using server = await startHTTP();

  const input = { name: 'A"B', tags: ['a', 1], fields: { x: 1 } };
  const { row } = await run({ url: server.origin, method: 'POST', bodyType, body }, input);

  expect(row.error).toBeNull();
  expect(server.seen[0]?.body).toBe(sent);
});

test('a text that is no JSON once it has its values is not sent as JSON', async () => {
  await using server = await startHTTP();

  const { row } = await run({ url: server.origin, method: 'POST', body: 'Hi {{ctx.input.name}}' }, { name: 'A' });

  const message = expect.stringContaining('body: is not valid JSON after its values are filled in');
  expect(row.error).toMatchObject({ code: 'VALIDATION_ERROR', message });
  expect(server.seen).toEqual([]);
});

test('every attempt has the same key, up to the retry limit of the node', async () => {
  let asked = 0;
  await using server = await startHTTP((_request, response) => {
    asked += 1;
    json(response, { asked }, asked < 3 ? 503 : 200);
  });

  const { row } = await run({ url: server.origin, method: 'POST', retryLimit: 2, retryDelaySeconds: 0 });

  expect(row).toMatchObject({ status: 'COMPLETED', output: { answer: { asked: 3 } } });
  expect(new Set(server.seen.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
});

test('a further attempt comes when the server has asked for it, and none if that is more than a day away', async () => {
  const asked: number[] = [];
  await using server = await startHTTP(({ url }, response) => {
    if (url !== '/soon')
      response.setHeader('retry-after', url === '/never' ? 'Fri, 31 Dec 9999 23:59:59 GMT' : '86401');
    else if (asked.push(performance.now()) === 1) response.setHeader('retry-after', '1');
    json(response, {}, asked.length === 2 ? 200 : 503);
  });
  const call = (path: string) => run({ url: server.origin + path, retryLimit: 2, retryDelaySeconds: 0 });

  for (const path of ['/tomorrow', '/never']) {
    const { row } = await call(path);
    expect(row).toMatchObject({ status: 'FAILED', error: { code: 'UPSTREAM_FAILED', nodeID: 'call', attempt: 1 } });
  }
  expect((await call('/soon')).row.status).toBe('COMPLETED');
  expect((asked[1] ?? 0) - (asked[0] ?? 0)).toBeGreaterThan(990);
});

test('an error status fails the node, unless it is accepted', async () => {
  await using server = await startHTTP((_request, response) => json(response, { why: 'no' }, 404));

  const failed = await run({ url: server.origin });
  const wanted = await run({ url: server.origin, failOnStatus: false });

  expect(failed.row).toMatchObject({ status: 'FAILED', error: { code: 'UPSTREAM_FAILED', nodeID: 'call' } });
  expect(wanted.row).toMatchObject({ status: 'COMPLETED', output: { answer: { why: 'no' } } });
});

test('a redirect that is not followed is the answer, also where JSON is wanted', async () => {
  await using server = await startHTTP((_request, response) => {
    response.writeHead(302, { location: '/there', 'content-type': 'text/html' }).end('<a href="/there">There</a>');
  });

  const { row } = await run({ url: server.origin, followRedirects: false, responseType: 'json' });

  expect(row).toMatchObject({ status: 'COMPLETED', output: { answer: '<a href="/there">There</a>' } });
  expect(server.seen).toHaveLength(1);
});

test('a timeout reaches the server', async () => {
  await using server = await startHTTP(() => undefined);

  const { row } = await run({ url: server.origin, timeoutSeconds: 1 });

  const message = 'The node took longer than 1 s (`timeoutSeconds` of the node)';
  expect(row).toMatchObject({ status: 'FAILED', error: { code: 'NODE_TIMEOUT', message } });
  await eventually(() => expect(server.abandoned()).toBe(1));
});

test.each([
  ['a step up', '/a/{{ctx.input.v}}/b', '..'],
  ['another host', '@{{ctx.input.v}}/', 'evil.example/'],
  ['another scheme', null, 'file:///etc/passwd'],
  ['an address of the machine room', null, 'http://169.254.169.254/latest'],
  ['an address with a password', null, 'http://a:b@127.0.0.1/'],
  ['an address that is none', null, 'http://'],
])('a value cannot be %s', async (_what, path, v) => {
  await using server = await startHTTP();

  const { row } = await run({ url: path === null ? '{{ctx.input.v}}' : `${server.origin}${path}` }, { v });

  expect(row.status).toBe('FAILED');
  expect(row.error?.code).toMatch(/VALIDATION_ERROR|UPSTREAM_FAILED/);
  expect(server.seen).toEqual([]);
});

test('a value cannot add a header', async () => {
  await using server = await startHTTP();
  const { row } = await run(
    { url: server.origin, headers: [{ key: 'X-A', value: '{{ctx.input.v}}' }] },
    { v: 'a\r\nX-B: b' },
  );
  expect(row.error).toMatchObject({ code: 'VALIDATION_ERROR' });
  expect(server.seen).toEqual([]);
});
