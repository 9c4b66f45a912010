import { describe, expect, test } from 'vitest';
import { runSync } from '#shared/concurrency/cooperative.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { bindQuery } from '#shared/datasources/queries/bind.ts';
import { airtable } from '#shared/datasources/types/presets/airtable.ts';
import type { PresetBody, PresetDefinition } from '#shared/datasources/types/presets/define-preset.ts';
import { presets } from '#shared/datasources/types/presets/index.ts';
import { jira } from '#shared/datasources/types/presets/jira.ts';
import { notion } from '#shared/datasources/types/presets/notion.ts';
import { sendgrid } from '#shared/datasources/types/presets/sendgrid.ts';
import { slack } from '#shared/datasources/types/presets/slack.ts';
import { stripe } from '#shared/datasources/types/presets/stripe.ts';
import { twilio } from '#shared/datasources/types/presets/twilio.ts';
import { openOutbound } from '#test/support/connector.ts';
import { json, startHTTP } from '#test/support/http-server.ts';
import { SID, vendors } from '#test/support/preset-expectations.ts';
import { connectPreset } from '#workers/datasources/connectors/preset.ts';

const options: Record<string, JsonObject> = {
  airtable: { apiKey: 'at-key', baseId: 'base' },
  stripe: { secretKey: 'sk-key', apiVersion: '2024-06-20' },
  twilio: { accountSid: SID, authToken: 'tw-token' },
  sendgrid: { apiKey: 'sg-key' },
  slack: { botToken: 'xoxb-token' },
  notion: { apiToken: 'nt-token' },
  jira: { host: 'example.atlassian.net', email: 'a@example.com', apiToken: 'jr-token' },
};

/** Executes one query against a server instead of the vendor's. Answers with the result and the request. */
async function ask(
  definition: PresetDefinition,
  query: JsonObject,
  inputs: JsonObject = {},
  answers: unknown[] = [{}],
) {
  const left = [...answers];
  await using server = await startHTTP((_request, response) => json(response, left.shift() ?? {}));
  await using connection = await connectPreset(
    definition,
    definition.options.parse(options[definition.type]) as JsonObject,
    { outbound: openOutbound, baseUrl: server.origin },
  );
  const run = { signal: AbortSignal.timeout(5_000), maxRows: 1_000, idempotencyKey: 'key' };
  const result = await connection.execute(runSync(bindQuery(definition, query, inputs)) as never, run);
  const [asked] = server.seen;
  if (!asked) throw new Error('nothing was asked');
  return { result, ...asked, seen: server.seen, line: `${asked.method} ${decodeURIComponent(asked.url)}` };
}

/** A list at the path where the call looks for one. */
function listAt(path: string | undefined, items: readonly unknown[] = []): unknown {
  if (path === undefined) return {};
  return path === '' ? items : { [path]: items };
}

describe.each(presets.map((definition) => [definition.type, definition] as const))('%s', (type, definition) => {
  const { preset }: PresetDefinition = definition;
  const expected = vendors[type];

  test('has an expectation for each of its calls', () => {
    expect(Object.keys(expected?.calls ?? {}).sort()).toEqual(Object.keys(preset.calls).sort());
  });

  test.each(Object.entries(expected?.calls ?? {}))(
    '%s is the request that the vendor describes',
    async (name, call) => {
      const [fields, line, body = '', headers = {}] = call;
      const [resource, operation] = name.includes('.') ? name.split('.') : [undefined, name];
      const query = { ...(resource !== undefined && { resource }), operation: operation ?? '', ...fields };

      const asked = await ask(definition, query, {}, [listAt(preset.calls[name]?.items)]);

      expect({ line: asked.line, body: asked.body }).toEqual({ line, body });
      expect(asked.headers).toMatchObject({ ...expected?.headers, ...headers });
      expect(asked.headers['content-type']).toBe(body === '' ? undefined : expected?.contentType);
      const isRead = line.startsWith('GET') || preset.calls[name]?.paging !== undefined;
      expect(asked.headers['idempotency-key']).toBe(isRead ? undefined : 'key');
    },
  );

  test('is tested with a call that every credential may make', async () => {
    await using server = await startHTTP((_request, response) => json(response, { ok: true }));
    await using connection = await connectPreset(definition, definition.options.parse(options[type]) as JsonObject, {
      outbound: openOutbound,
      baseUrl: server.origin,
    });
    await connection.test(AbortSignal.timeout(5_000));
    expect(server.seen.map(({ method, url }) => `${method} ${url}`)).toEqual([`GET ${expected?.probe}`]);
    const [asked] = server.seen;
    expect(asked?.headers).toMatchObject(expected?.headers ?? {});
  });
});

describe('paging', () => {
  test.each<[PresetDefinition, JsonObject, unknown[], string[], string[]?]>([
    [
      airtable,
      { operation: 'list', tableName: 'T', maxRecords: 150 },
      [{ records: [1, 2], offset: 'itr/rec' }, { records: [3] }],
      ['/base/T?pageSize=100', '/base/T?pageSize=100&offset=itr/rec'],
    ],
    [
      stripe,
      { resource: 'charges', operation: 'list', limit: 200 },
      [
        { data: [{ id: 'ch_1' }, { id: 'ch_2' }], has_more: true },
        { data: [{ id: 'ch_3' }], has_more: false },
      ],
      ['/charges?limit=100', '/charges?limit=100&starting_after=ch_2'],
    ],
    [
      stripe,
      { resource: 'customers', operation: 'search', searchQuery: 'q', limit: 200 },
      [
        { data: [1, 2], has_more: true, next_page: 'p2' },
        { data: [3], has_more: false, next_page: null },
      ],
      ['/customers/search?query=q&limit=100', '/customers/search?query=q&limit=100&page=p2'],
    ],
    [
      twilio,
      { resource: 'messages', operation: 'list', limit: 2_000 },
      [
        { messages: [1, 2], next_page_uri: `/Accounts/${SID}/Messages.json?PageSize=1000&Page=1&PageToken=PA1` },
        { messages: [3], next_page_uri: null },
      ],
      [
        `/Accounts/${SID}/Messages.json?PageSize=1000`,
        `/Accounts/${SID}/Messages.json?PageSize=1000&Page=1&PageToken=PA1`,
      ],
    ],
    [
      slack,
      { resource: 'users', operation: 'list', limit: 300 },
      [
        { ok: true, members: [1, 2], response_metadata: { next_cursor: 'dXNlcg==' } },
        { ok: true, members: [3], response_metadata: { next_cursor: '' } },
      ],
      ['/users.list?limit=200', '/users.list?limit=200&cursor=dXNlcg=='],
    ],
    [
      notion,
      { resource: 'users', operation: 'list', pageSize: 200 },
      [
        { results: [1, 2], has_more: true, next_cursor: 'c2' },
        { results: [3], has_more: false, next_cursor: null },
      ],
      ['/users?page_size=100', '/users?page_size=100&start_cursor=c2'],
    ],
    [
      notion,
      { resource: 'search', operation: 'query', searchQuery: 'x', pageSize: 200 },
      [
        { results: [1, 2], has_more: true, next_cursor: 'c2' },
        { results: [3], has_more: false, next_cursor: null },
      ],
      ['/search', '/search'],
      ['{"query":"x","page_size":100}', '{"query":"x","page_size":100,"start_cursor":"c2"}'],
    ],
    [
      jira,
      { resource: 'issues', operation: 'search', jql: 'a=1', maxResults: 200 },
      [{ issues: [1, 2], nextPageToken: 't2' }, { issues: [3] }],
      [
        '/api/3/search/jql?fields=*all&jql=a=1&maxResults=100',
        '/api/3/search/jql?fields=*all&jql=a=1&maxResults=100&nextPageToken=t2',
      ],
    ],
    [
      jira,
      { resource: 'projects', operation: 'search', startAt: 7, maxResults: 2 },
      [{ values: [1, 2] }, { values: [3] }],
      ['/api/3/project/search?startAt=7&maxResults=2', '/api/3/project/search?startAt=9&maxResults=2'],
    ],
    [
      sendgrid,
      { resource: 'suppressions', operation: 'list', limit: 2 },
      [[1, 2], [3]],
      ['/suppression/bounces?offset=0&limit=2', '/suppression/bounces?offset=2&limit=2'],
    ],
  ])('%#', async (definition, query, answers, urls, bodies) => {
    const { seen, result } = await ask(definition, query, {}, answers);

    expect(seen.map(({ url }) => decodeURIComponent(url))).toEqual(urls);
    if (bodies) expect(seen.map(({ body }) => body)).toEqual(bodies);
    const rows = result.data as unknown[];
    expect(rows).toHaveLength(Math.min(3, Number(query.limit ?? query.maxResults ?? 3)));
  });

  test('reads no more pages than requested', async () => {
    const page = { ok: true, members: [1, 2], response_metadata: { next_cursor: 'more' } };
    const { seen, result } = await ask(slack, { resource: 'users', operation: 'list', limit: 2 }, {}, [page, page]);

    expect(seen).toHaveLength(1);
    expect(result).toEqual({ data: [1, 2], rowCount: 2, truncated: true });
  });

  test('follows no link to another origin', async () => {
    const answer = { messages: [1], next_page_uri: 'https://example.com/steal' };
    await expect(ask(twilio, { resource: 'messages', operation: 'list' }, {}, [answer])).rejects.toMatchObject({
      code: 'UPSTREAM_FAILED',
    });
  });
});

test('an API that reports an error with status 200 has failed', async () => {
  await expect(
    ask(slack, { resource: 'users', operation: 'list' }, {}, [{ ok: false, error: 'not_authed' }]),
  ).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', message: /not_authed/, details: { code: 'not_authed' } });
});

test('a value cannot change other parts of the request', async () => {
  const query = { resource: 'customers', operation: 'retrieve', resourceId: '{{inputs.id}}' };
  expect((await ask(stripe, query, { id: 'a/../b?c' }).catch((error) => error)).code).toBe('VALIDATION_ERROR');
  expect((await ask(stripe, query, { id: '..' }).catch((error) => error)).code).toBe('VALIDATION_ERROR');
  expect((await ask(stripe, query, { id: 'a?b#c' })).url).toBe('/customers/a%3Fb%23c');
});

test('an unknown call, or one without a required field, is refused with the name of the field', () => {
  expect(() => runSync(bindQuery(stripe, { resource: 'payouts', operation: 'retrieve' }, {}))).toThrow(
    /resourceId: is required/,
  );
  expect(() => runSync(bindQuery(stripe, { resource: 'balanceTransactions', operation: 'create' }, {}))).toThrow(
    /operation/,
  );
});

test.each(presets.map((definition) => [definition.type, definition] as const))(
  '%s names only fields of its own',
  (_type, definition) => {
    const { preset, query, options: own }: PresetDefinition = definition;
    const fields = Object.keys(definition.query.shape);
    const optionFields = Object.keys(definition.options.shape);
    for (const call of Object.values(preset.calls)) {
      const inPath = [...call.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect([...fields, ...optionFields]).toEqual(expect.arrayContaining(inPath));
      const named = [...fieldsIn(call.body ?? {}), ...Object.values(call.params ?? {}), ...(call.needs ?? [])];
      const paging = call.paging ? [call.paging.wanted] : [];
      expect(fields).toEqual(expect.arrayContaining([...named, ...paging, ...(call.filters ? [call.filters] : [])]));
    }
    expect(fields.filter((field) => optionFields.includes(field))).toEqual([]);
    const { as: _as, ...named } = preset.auth;
    expect(optionFields).toEqual(
      expect.arrayContaining([...Object.values(named), ...Object.values(preset.optionHeaders ?? {})]),
    );
    expect(query.safeParse({ operation: 'none' }).success).toBe(false);
    expect(own.safeParse({}).success).toBe(false);
  },
);

function fieldsIn(body: PresetBody | string): string[] {
  return typeof body === 'string' ? [body] : Object.values(body).flatMap(fieldsIn);
}
