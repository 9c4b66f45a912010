import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { MASK } from '#shared/core/schema/secret.ts';
import { reserveCall } from '#shared/tenants/ai-usage.ts';
import { type AIProviderServer, startAIProvider } from '../../servers/ai-provider.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { aMember, aTenant, type TestTenant } from '../../support/factories.ts';
import { eventually } from '../../support/settle.ts';

let cluster: Cluster;
let provider: AIProviderServer;
let other: AIProviderServer;
let tenant: TestTenant;

beforeAll(async () => {
  [provider, other] = await Promise.all([startAIProvider(), startAIProvider()]);
  cluster = await startCluster({ workers: ['ai.calls'], settings: provider.settings });
});
beforeEach(async () => {
  other.play();
  tenant = await aTenant(cluster);
});
afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
});

const api = () => cluster.as(tenant.creator).in(tenant);
const own = () => ({
  provider: 'openai-compatible',
  baseURL: other.baseURL,
  model: 'own',
  apiKey: 'a key of the tenant',
});

test('a tenant without a model of its own uses that of the deployment, whose address and key are not shown', async () => {
  const shown = await api().get('T/ai-config');
  const tested = await api().post('T/ai-config/test');

  expect(shown.body.aiConfig).toMatchObject({
    source: 'workspace',
    provider: 'openai-compatible',
    model: 'test-model',
  });
  expect(shown.body.aiConfig).toMatchObject({ baseURL: null, apiKey: null });
  expect(tested).toMatchObject({ status: 200, body: { model: 'test-model', inputTokens: 20, outputTokens: 5 } });
});

test('POST, PATCH and PUT store a model, whose key is sealed, masked and sent to the provider', async () => {
  const saved = await api().post('T/ai-config', own());
  const changed = await api().patch('T/ai-config', { model: 'second', apiKey: MASK });
  const put = await api().put('T/ai-config', { maxCalls: 2 });
  const tested = await api().post('T/ai-config/test');

  expect(saved.body.aiConfig).toMatchObject({ source: 'tenant', apiKey: MASK, baseURL: other.baseURL, model: 'own' });
  expect(changed.body.aiConfig).toMatchObject({ apiKey: MASK, model: 'second', maxCalls: null });
  expect(put.body.aiConfig).toMatchObject({ apiKey: MASK, model: 'second', maxCalls: 2 });
  expect(tested).toMatchObject({ status: 200, body: { model: 'second' } });
  expect(other.seen.at(-1)).toMatchObject({
    url: '/v1/chat/completions',
    headers: { authorization: 'Bearer a key of the tenant' },
  });
  const { rows } = await cluster.pool.query<{ text: string }>(
    `select (select string_agg(c::text, '') from ai_config c) || (select string_agg(r::text, '') from audit_record r) as text`,
  );
  expect(rows[0]?.text).toContain('second');
  expect(rows[0]?.text).not.toContain('a key of the tenant');
});

test('a stored key is not sent to another address or provider', async () => {
  await api().post('T/ai-config', own());

  for (const change of [
    { baseURL: provider.baseURL },
    { baseURL: provider.baseURL, apiKey: MASK },
    { provider: 'openai' },
    { provider: 'openai', baseURL: other.baseURL },
  ])
    for (const answer of [await api().patch('T/ai-config', change), await api().post('T/ai-config/test', change)])
      expect(answer).toMatchObject({
        status: 400,
        body: { error: { message: expect.stringContaining('apiKey: must be') } },
      });
  const before = provider.seen.length;
  const moved = await api().patch('T/ai-config', { baseURL: provider.baseURL, apiKey: 'another key' });
  await api().post('T/ai-config/test');

  expect(moved.status).toBe(200);
  expect(provider.seen[before]?.headers.authorization).toBe('Bearer another key');
});

test('what is missing or wrong in a configuration is named', async () => {
  const cases: [object, string][] = [
    [{ provider: 'openai', apiKey: 'k' }, 'model'],
    [{ model: 'm' }, 'apiKey'],
    [{ provider: 'openai-compatible', model: 'm' }, 'baseURL'],
    [{ provider: 'openai-compatible', model: 'm', baseURL: 'file:///etc/passwd' }, 'baseURL'],
    ...['u:p@a.test/v1', 'a.test/v1?key=k', 'a.test/v1#k'].map((at): [object, string] => [
      { provider: 'openai-compatible', model: 'm', apiKey: 'k', baseURL: `https://${at}` },
      'baseURL',
    ]),
    [{ provider: 'mystery', model: 'm' }, 'provider'],
    [{ provider: 'anthropic', model: 'm', apiKey: MASK }, 'apiKey'],
    ...['\u0004', 'schlüssel', 'k\n', ' k'].map((apiKey): [object, string] => [
      { provider: 'openai', model: 'm', apiKey },
      'apiKey',
    ]),
    [{ maxCalls: -1 }, 'maxCalls'],
  ];

  for (const [body, field] of cases)
    expect(await api().post('T/ai-config', body), JSON.stringify(body)).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining(`${field}:`) } },
    });
  expect((await api().get('T/ai-config')).body.aiConfig.source).toBe('workspace');
});

test('null goes back to the model of the deployment, DELETE also takes the budgets', async () => {
  await api().post('T/ai-config', { ...own(), maxTokensPerDay: 5_000 });

  const [stored, fallback] = [
    await api().post('T/ai-config/test', {}),
    await api().post('T/ai-config/test', { provider: null }),
  ];
  const back = await api().patch('T/ai-config', { provider: null });
  const deleted = await api().delete('T/ai-config');

  expect(back.body.aiConfig).toMatchObject({ source: 'workspace', apiKey: null, maxTokensPerDay: 5_000 });
  expect(deleted.body.aiConfig).toMatchObject({ source: 'workspace', maxTokensPerDay: null });
  expect([stored.body.model, fallback.body.model]).toEqual(['own', 'test-model']);
});

test('reading needs tenant.read, changing and testing tenant.update, the use ai.read', async () => {
  const reader = cluster.as(await aMember(cluster, { tenant, can: ['tenant.read'] })).in(tenant);
  const counting = cluster.as(await aMember(cluster, { tenant, can: ['ai.read'] })).in(tenant);

  expect((await reader.get('T/ai-config')).status).toBe(200);
  for (const answer of [
    await reader.put('T/ai-config', {}),
    await reader.delete('T/ai-config'),
    await reader.post('T/ai-config/test'),
    await reader.get('T/ai/usage'),
    await counting.get('T/ai-config'),
  ])
    expect(answer.status).toBe(403);
  expect((await counting.get('T/ai/usage')).status).toBe(200);
});

test('refusals of a provider are told in our words, without the key', async () => {
  await api().post('T/ai-config', own());
  const cases = [
    [{ status: 401 }, 502, 'does not accept these credentials'],
    [{ status: 404 }, 502, 'has no model "own"'],
    [{ status: 429, headers: { 'retry-after': '7' } }, 429, 'takes no more calls'],
    [{ status: 400 }, 502, 'answered 400'],
    [{ status: 503 }, 502, 'answered 503'],
    [{ lie: 'broken-json' }, 502, 'is not of the protocol'],
    [{ status: 302, headers: { location: 'http://127.0.0.1:1/' } }, 502, 'answered 302'],
  ] as const;

  for (const [script, status, message] of cases) {
    other.play(script);
    const answer = await api().post('T/ai-config/test');
    expect(answer, message).toMatchObject({ status, body: { error: { message: expect.stringContaining(message) } } });
    expect(JSON.stringify(answer.body)).not.toContain('a key of the tenant');
    if (status === 429) expect(answer.headers.get('retry-after')).toBe('7');
  }
  expect((await api().get('T/ai/usage')).body.usage).toMatchObject({ calls: { used: 0 } });
});

test('addresses that workers may not reach are refused', async () => {
  const answer = await api().post('T/ai-config/test', { ...own(), baseURL: 'http://169.254.169.254/v1' });

  expect(answer).toMatchObject({
    status: 502,
    body: { error: { message: expect.stringContaining('neither a public') } },
  });
});

test('the call ends at the provider when the client goes away', async () => {
  await api().post('T/ai-config', own());
  const before = other.abandoned();
  other.play({ hangs: true });
  const leaving = new AbortController();
  const removed = fetch(`${cluster.baseURL}/api/v1/tenants/${tenant.id}/ai-config/test`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await cluster.tokenFor(tenant.creator)}` },
    signal: leaving.signal,
  });
  await eventually(async () => expect((await api().get('T/ai/usage')).body.usage.calls.used).toBe(1));
  leaving.abort();

  await expect(removed).rejects.toThrow();
  await eventually(() => expect(other.abandoned()).toBe(before + 1), 1_000);
  await eventually(async () => expect((await api().get('T/ai/usage')).body.usage.calls.used).toBe(0));
});

test('100 calls at once stay within the tokens of a day, and what they did not use is given back', async () => {
  // Each call reserves about 290 tokens, and uses 25.
  await api().post('T/ai-config', { ...own(), maxTokensPerDay: 2_000 });
  await cluster.pool.query(`insert into quota (owner_id, name, max) values ($1, 'aiCalls', 100)`, [tenant.id]);
  const { promise: until, resolve: release } = Promise.withResolvers<void>();
  other.play(...Array.from({ length: 100 }, () => ({ pieces: ['ok'], until })));
  const before = other.seen.length;
  let refusals = 0;
  const calls = Array.from({ length: 100 }, async () => {
    const answer = await api().post('T/ai-config/test');
    if (answer.status === 429) refusals += 1;
    return answer;
  });
  await eventually(() => expect(refusals).toBe(94));
  release();
  const answers = await Promise.all(calls);
  const { usage } = (await api().get('T/ai/usage')).body;

  const refused = answers.filter(({ status }) => status === 429);
  expect(new Set(refused.map(({ body }) => body.error.code))).toEqual(new Set(['QUOTA_EXCEEDED']));
  const made = answers.filter(({ status }) => status === 200).length;
  expect({ made, refused: refused.length }).toEqual({ made: 6, refused: 94 });
  expect(other.seen.length - before).toBe(made);
  expect(usage).toMatchObject({ today: { used: made * 25, max: 2_000 }, calls: { used: 0 } });
  expect(usage.days).toEqual([
    expect.objectContaining({ calls: made, inputTokens: made * 20, outputTokens: made * 5 }),
  ]);
});

test('100 reservations at once, of any number of processes, stay within the budget', async () => {
  await api().post('T/ai-config', { maxTokensPerDay: 1_000 });
  await cluster.pool.query(`insert into quota (owner_id, name, max) values ($1, 'aiCalls', 100)`, [tenant.id]);
  const caller = { type: 'user', id: tenant.creator.id, origin: 'direct' } as const;
  const call = { tenantID: tenant.id, caller, purpose: 'chat', model: 'm', tokens: 100, timeoutMs: 60_000 } as const;

  const made = await Promise.allSettled(
    Array.from({ length: 100 }, () => reserveCall(cluster.pool, { ...call, id: newID() })),
  );

  expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
});

test('calls at once are limited, and the limit of the tenant itself counts as well', async () => {
  await api().post('T/ai-config', { ...own(), maxCalls: 1 });
  const { promise: until, resolve: release } = Promise.withResolvers<void>();
  other.play({ pieces: ['ok'], until });
  const first = api().post('T/ai-config/test');
  await eventually(async () => expect((await api().get('T/ai/usage')).body.usage.calls).toEqual({ used: 1, max: 1 }));
  const second = await api().post('T/ai-config/test');
  release();

  expect(second).toMatchObject({ status: 429, body: { error: { code: 'RATE_LIMITED' } } });
  expect(second.headers.get('retry-after')).toBe('2');
  expect((await first).status).toBe(200);
});

test('a number of tokens that a provider cannot have counted is estimated, so it gives no budget and blocks none', async () => {
  await api().post('T/ai-config', own());
  const used = async () => (await api().get('T/ai/usage')).body.usage;
  for (const prompt_tokens of [-1_000_000, 20.5, 1e12]) {
    const before = await used();
    other.play({ pieces: ['ok'], usage: { prompt_tokens, completion_tokens: 5 } });
    expect((await api().post('T/ai-config/test')).status).toBe(200);
    const { today, calls } = await used();
    expect([today.used > before.today.used, today.used < 1_000, calls.used]).toEqual([true, true, 0]);
  }
});

test('the tokens of a call whose worker has died stay reserved, and its place is free again', async () => {
  await cluster.pool.query(
    `insert into ai_call (id, tenant_id, day, purpose, model, reserved_tokens, expires_at)
     values ($1, $2, (now() at time zone 'utc')::date, 'chat', 'm', 1000, now() - interval '1 second')`,
    [newID(), tenant.id],
  );

  const { usage } = (await api().get('T/ai/usage')).body;
  expect(usage).toMatchObject({ today: { used: 1_000 }, month: { used: 1_000 }, calls: { used: 0 } });
});
