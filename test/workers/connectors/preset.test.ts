import { describe, expect, test } from 'vitest';
import { airtable } from '#shared/datasources/presets/airtable.ts';
import type { PresetDefinition } from '#shared/datasources/presets/define-preset.ts';
import { presets } from '#shared/datasources/presets/index.ts';
import { jira } from '#shared/datasources/presets/jira.ts';
import { notion } from '#shared/datasources/presets/notion.ts';
import { sendgrid } from '#shared/datasources/presets/sendgrid.ts';
import { slack } from '#shared/datasources/presets/slack.ts';
import { stripe } from '#shared/datasources/presets/stripe.ts';
import { twilio } from '#shared/datasources/presets/twilio.ts';
import { newID } from '#shared/ids.ts';
import type { JsonObject } from '#shared/json.ts';
import { bindQuery } from '#shared/queries/bind.ts';
import { noFiles, noTenantDatabases, openOutbound } from '#test/support/connector.ts';
import { testLogger } from '#test/support/environment.ts';
import { json, startHTTP } from '#test/support/http-server.ts';
import { connectPreset } from '#workers/connectors/preset.ts';

const options: Record<string, JsonObject> = {
  airtable: { apiKey: 'at-key', baseId: 'appBase1' },
  stripe: { secretKey: 'sk-key', apiVersion: '2024-06-20' },
  twilio: { accountSid: `AC${'0'.repeat(32)}`, authToken: 'tw-token' },
  sendgrid: { apiKey: 'sg-key' },
  slack: { botToken: 'xoxb-token' },
  notion: { apiToken: 'nt-token' },
  jira: { host: 'example.atlassian.net', email: 'a@example.com', apiToken: 'jr-token' },
};

/** One query against a server that stands in for the vendor, and what that server was asked. */
async function ask(definition: PresetDefinition, query: JsonObject, inputs: JsonObject = {}, answer: unknown = {}) {
  await using server = await startHTTP((_request, response) => json(response, answer));
  await using connection = await connectPreset(
    definition,
    definition.options.parse(options[definition.type]) as JsonObject,
    {
      tenantID: newID(),
      outbound: openOutbound,
      files: noFiles,
      tenantDatabases: noTenantDatabases,
      logger: testLogger,
      baseUrl: server.origin,
    },
  );
  const run = { signal: AbortSignal.timeout(5_000), maxRows: 2, idempotencyKey: 'key' };
  const result = await connection.run(bindQuery(definition, query, inputs) as never, run);
  const [asked] = server.seen;
  if (!asked) throw new Error('nothing was asked');
  return { result, ...asked, line: `${asked.method} ${decodeURIComponent(asked.url)}` };
}

describe('a call becomes the request that the vendor describes', () => {
  test.each<[PresetDefinition, JsonObject, string, string, unknown?]>([
    [airtable, { operation: 'find', tableName: 'My table', recordId: 'rec1' }, 'GET /My table/rec1', ''],
    [
      airtable,
      { operation: 'update', tableName: 'T', recordId: 'r', fields: { A: 1 } },
      'PATCH /T/r',
      '{"fields":{"A":1}}',
    ],
    [
      airtable,
      { operation: 'list', tableName: 'T', sortField: 'A', sortDirection: 'desc', maxRecords: 5 },
      'GET /T?maxRecords=5&sort[0][field]=A&sort[0][direction]=desc',
      '',
      { records: [] },
    ],
    [
      stripe,
      { resource: 'customers', operation: 'list', limit: 3, expand: ['data.x', 'data.y'] },
      'GET /customers?limit=3&expand[]=data.x&expand[]=data.y',
      '',
      { data: [] },
    ],
    [
      stripe,
      { resource: 'paymentIntents', operation: 'create', params: { amount: 5, metadata: { a: 'b&c' } } },
      'POST /payment_intents',
      'amount=5&metadata%5Ba%5D=b%26c',
    ],
    [
      twilio,
      { resource: 'messages', operation: 'create', params: { To: '+1', From: '+2', Body: 'hi' } },
      'POST /Messages.json',
      'To=%2B1&From=%2B2&Body=hi',
    ],
    [twilio, { resource: 'calls', operation: 'fetch', resourceSid: 'CA1' }, 'GET /Calls/CA1.json', ''],
    [
      sendgrid,
      { resource: 'stats', operation: 'list', startDate: '2026-01-01' },
      'GET /stats?start_date=2026-01-01',
      '',
    ],
    [
      slack,
      { resource: 'messages', operation: 'post', channelId: 'C1', message: 'hi' },
      'POST /chat.postMessage',
      '{"channel":"C1","text":"hi"}',
    ],
    [
      notion,
      { resource: 'databases', operation: 'query', databaseId: 'd', pageSize: 7 },
      'POST /databases/d/query',
      '{"page_size":7}',
      { results: [] },
    ],
    [
      jira,
      { resource: 'issues', operation: 'search', jql: 'a = "b"', maxResults: 4 },
      'GET /api/3/search/jql?fields=*all&jql=a+=+"b"&maxResults=4',
      '',
      { issues: [] },
    ],
    [
      jira,
      { resource: 'issues', operation: 'update', issueKey: 'K-1', fields: { a: 1 } },
      'PUT /api/3/issue/K-1',
      '{"fields":{"a":1}}',
    ],
  ])('%#', async (definition, query, line, body, answer = {}) => {
    const asked = await ask(definition, query, {}, answer);
    expect({ line: asked.line, body: asked.body }).toEqual({ line, body });
  });

  test('with its credentials and headers', async () => {
    const asked = await ask(stripe, { resource: 'customers', operation: 'create', params: { name: 'x' } });
    expect(asked.headers).toMatchObject({
      authorization: 'Bearer sk-key',
      'stripe-version': '2024-06-20',
      'idempotency-key': 'key',
    });
    const mail = await ask(jira, { resource: 'projects', operation: 'get', projectKey: 'P' });
    expect(mail.headers.authorization).toBe(`Basic ${Buffer.from('a@example.com:jr-token').toString('base64')}`);
  });
});

test('the list is the result, up to the rows that are wanted', async () => {
  const { result } = await ask(slack, { resource: 'users', operation: 'list' }, {}, { ok: true, members: [1, 2, 3] });
  expect(result).toEqual({ data: [1, 2], rowCount: 2, truncated: true });
});

test('an API that says no with a 200 has still said no', async () => {
  await expect(
    ask(slack, { resource: 'users', operation: 'list' }, {}, { ok: false, error: 'not_authed' }),
  ).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', message: /not_authed/ });
});

test('a value stays in its place', async () => {
  const query = { resource: 'customers', operation: 'retrieve', resourceId: '{{inputs.id}}' };
  expect((await ask(stripe, query, { id: 'a/../b?c' }).catch((error) => error)).code).toBe('VALIDATION_ERROR');
  expect((await ask(stripe, query, { id: '..' }).catch((error) => error)).code).toBe('VALIDATION_ERROR');
  expect((await ask(stripe, query, { id: 'a?b#c' })).url).toBe('/customers/a%3Fb%23c');
});

test('a call that there is not, or that lacks something, is refused with the name of the field', () => {
  expect(() => bindQuery(stripe, { resource: 'payouts', operation: 'retrieve' }, {})).toThrow(/resourceId: is needed/);
  expect(() => bindQuery(stripe, { resource: 'balanceTransactions', operation: 'create' }, {})).toThrow(/operation/);
});

test.each(presets.map((definition) => [definition.type, definition] as const))(
  '%s names only fields it has',
  (_type, definition) => {
    const { preset, query, options: own }: PresetDefinition = definition;
    const fields = Object.keys(definition.query.shape);
    const optionFields = Object.keys(definition.options.shape);
    for (const call of Object.values(preset.calls)) {
      const inPath = [...call.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const body = typeof call.body === 'string' ? [call.body] : Object.values(call.body ?? {});
      expect(fields).toEqual(
        expect.arrayContaining([...inPath, ...body, ...Object.values(call.params ?? {}), ...(call.needs ?? [])]),
      );
    }
    const { as: _as, ...named } = preset.auth;
    expect(optionFields).toEqual(
      expect.arrayContaining([...Object.values(named), ...Object.values(preset.optionHeaders ?? {})]),
    );
    expect(query.safeParse({ operation: 'none' }).success).toBe(false);
    expect(own.safeParse({}).success).toBe(false);
  },
);
