/** The trace of refused deliveries, and test deliveries with the commands that send the same. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MASK } from '#shared/core/schema/secret.ts';
import type { WebhookOptions } from '#shared/datasources/types/webhook.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { aListener, aMember, aTenant, type TestTenant } from '#test/support/factories.ts';
import { eventually } from '#test/support/settle.ts';

const SECRET = 'it is a secret, ünd no word';
let cluster: Cluster;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

function deliver(id: string, init: RequestInit, query = ''): Promise<Response> {
  return fetch(`${cluster.baseURL}/webhooks/v1/inbound/${id}${query}`, { method: 'POST', ...init });
}

interface Refusal {
  [key: string]: unknown;
  headers: [string, string][];
}

async function refusalsOf(id: string): Promise<Refusal[]> {
  return (await cluster.as(tenant.creator).in(tenant).get(`T/listeners/${id}/refusals`)).body.refusals;
}

async function untilRefused(id: string, count = 1): Promise<Refusal[]> {
  let refusals: Refusal[] = [];
  await eventually(async () => {
    refusals = await refusalsOf(id);
    expect(refusals.length).toBeGreaterThanOrEqual(count);
  }, 10_000);
  return refusals;
}

describe('a refused delivery', () => {
  test('leaves its time, address, reason and the first 2 kB, and no secret that it contained', async () => {
    const { id } = await aListener(cluster, { tenant, options: { authType: 'github', authSecret: SECRET } });
    const other = await aListener(cluster, { tenant });
    const signature = `sha256=${'ab'.repeat(32)}`;
    // Some of the secrets would be cut by the end of what is kept.
    const body = `${SECRET} ${'x'.repeat(2_040 - SECRET.length)}${SECRET}${'y'.repeat(9_000)}`;
    const headers = {
      ...{ 'x-hub-signature-256': signature, 'x-github-event': 'push', authorization: 'Bearer none of theirs' },
      ...{ 'x-other': encodeURIComponent(SECRET), 'user-agent': `${'u'.repeat(180)}${encodeURIComponent(SECRET)}` },
    };
    const long = 'n'.repeat(80);
    const query = `?token=hidden&${encodeURIComponent(SECRET)}=1&${long}${encodeURIComponent(SECRET)}=2`;
    const answer = await deliver(id, { headers, body }, query);
    expect(answer.status).toBe(401);

    const [refusal] = await untilRefused(id);
    const { status: states } = (await cluster.as(tenant.creator).in(tenant).get('T/listeners/status/connections')).body;
    expect([states[id].refusals, states[other.id].refusals]).toEqual([1, 0]);
    expect(refusal).toMatchObject({
      ...{ status: 401, code: 'INVALID_REQUEST', reason: 'This delivery is refused: the signature is wrong' },
      ...{ method: 'POST', path: `/webhooks/v1/inbound/${id}`, address: expect.stringMatching(/127\.0\.0\.1|::1/) },
      ...{ parameters: ['token', MASK, long + MASK], bodyBytes: Buffer.byteLength(body), omitted: 0 },
      bodyStart: expect.stringMatching(/^•{8} x+[•\ufffd]+$/),
    });
    expect(Buffer.byteLength(String(refusal?.bodyStart))).toBeLessThan(2_052);
    expect(Object.fromEntries(refusal?.headers ?? [])).toMatchObject({
      ...{ 'x-hub-signature-256': 'sha256=ababa…', 'x-github-event': 'push' },
      ...{ authorization: MASK, 'x-other': MASK },
    });
    const { rows } = await cluster.pool.query(
      `select r::text || encode(body, 'escape') as text from listener_refusal r where listener_id = $1`,
      [id],
    );
    for (const part of ['secret', 'it is', 'it%20is', 'none of theirs', 'hidden', 'ab'.repeat(8)])
      expect(String(rows[0]?.text)).not.toContain(part);
    expect(Date.now() - Date.parse(String(refusal?.refusedAt))).toBeLessThan(60_000);
  });

  test('is told of a method, a size and a listener that is inactive, and not of an unknown address', async () => {
    const small = await aListener(cluster, { tenant, config: { maxBodyBytes: 10 } });
    const off = await aListener(cluster, { tenant, status: 'inactive' });
    await deliver(small.id, { method: 'PUT', body: '{}' });
    await deliver(small.id, { body: 'longer than that' });
    expect((await deliver(off.id, { body: '{}' })).status).toBe(404);
    await deliver(tenant.id, { body: '{}' });

    expect((await untilRefused(small.id, 2)).map(({ status, bodyStart }) => [status, bodyStart])).toEqual([
      [413, null],
      [405, null],
    ]);
    expect(await untilRefused(off.id)).toMatchObject([{ status: 404, reason: 'The listener is inactive' }]);
    const { rows } = await cluster.pool.query('select from listener_refusal where listener_id = $1', [tenant.id]);
    expect(rows).toEqual([]);
  });

  test('may be a handshake, whose token is wrong and not kept', async () => {
    const { id } = await aListener(cluster, { tenant, options: { handshake: 'meta', verifyToken: SECRET } });
    const query = '?hub.mode=subscribe&hub.challenge=1&hub.verify_token=another';
    expect((await fetch(`${cluster.baseURL}/webhooks/v1/inbound/${id}${query}`)).status).toBe(403);

    const [refusal] = await untilRefused(id);
    expect(refusal).toMatchObject({
      ...{ status: 403, reason: 'This handshake is refused: the verify token is wrong', method: 'GET' },
      parameters: ['hub.mode', 'hub.challenge', 'hub.verify_token'],
    });
    expect(JSON.stringify(refusal)).not.toContain('another');
  });

  test('any number of them fills nothing: five are recorded at once, the others are counted', async () => {
    const { id } = await aListener(cluster, { tenant, options: { authType: 'bearer', bearerToken: SECRET } });
    await Promise.all(Array.from({ length: 60 }, () => deliver(id, { body: 'x'.repeat(5_000) })));
    const before = await untilRefused(id, 5);
    expect(before.length).toBeLessThan(20);
    // A second gives room for one more, which says how many were left out before it.
    await eventually(async () => {
      await deliver(id, { body: '{}' });
      const refusals = await refusalsOf(id);
      const omitted = refusals.reduce((sum, refusal) => sum + Number(refusal.omitted), 0);
      expect(omitted + refusals.length).toBeGreaterThanOrEqual(60);
    }, 10_000);
  });

  test('is one of at most 50 of a listener', async () => {
    const { id } = await aListener(cluster, { tenant, options: { authType: 'bearer', bearerToken: SECRET } });
    await cluster.pool.query(
      `insert into listener_refusal (id, tenant_id, listener_id, status, code, reason, method, path, parameters, headers, omitted)
       select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, $1, $2, 401, '', '', '', '', '{}', '[]', 0
       from generate_series(1, 80) n`,
      [tenant.id, id],
    );
    await deliver(id, { body: '{}' });
    await eventually(async () => {
      const { rows } = await cluster.pool.query('select from listener_refusal where listener_id = $1', [id]);
      expect(rows).toHaveLength(50);
    }, 10_000);
    expect(await refusalsOf(id)).toHaveLength(50);
  });

  test('is shown to those who may read the listener', async () => {
    const { id } = await aListener(cluster, { tenant });
    const other = await aMember(cluster, { tenant, can: ['listener.list'] });
    expect((await cluster.as(other).in(tenant).get(`T/listeners/${id}/refusals`)).status).toBe(403);
  });
});

const base64 = Buffer.from('a key of bytes').toString('base64');
const authentications: Record<string, Partial<WebhookOptions>> = {
  none: { authType: 'none' },
  basic: { authType: 'basic', username: 'a "user" of $HOME', password: SECRET },
  // Letters that are not of ASCII are read in more than one way in headers.
  bearer: { authType: 'bearer', bearerToken: SECRET.replace('ü', 'u') },
  header: { authType: 'header', authSecret: SECRET.replace('ü', 'u') },
  query_param: { authType: 'query_param', authSecret: SECRET },
  gitlab: { authType: 'gitlab', authSecret: 'plain' },
  hmac: { authType: 'hmac', authSecret: SECRET },
  'hmac with a time, a prefix and a template': {
    ...{ authType: 'hmac', authSecret: SECRET, algorithm: 'sha512', signatureEncoding: 'base64url' },
    ...{ signaturePrefix: 'v1=', timestampHeader: 'X-Time' },
    signedContent: 'v0:`{timestamp}`:{method}:{header:x-note}:{body}$1',
  },
  standard_webhooks: { authType: 'standard_webhooks', authSecret: `whsec_${base64}` },
  stripe: { authType: 'stripe', authSecret: SECRET },
  github: { authType: 'github', authSecret: SECRET },
  slack: { authType: 'slack', authSecret: SECRET },
  shopify: { authType: 'shopify', authSecret: SECRET },
  twilio: { authType: 'twilio', authSecret: SECRET },
};

describe('a test delivery', () => {
  test.each(Object.keys(authentications))('%s: it is accepted, and so is that of its command', async (name) => {
    const options = authentications[name] ?? {};
    const { id } = await aListener(cluster, { tenant, options });
    const api = cluster.as(tenant.creator).in(tenant);
    const given = { body: { text: 'It\'s "quoted" `now` $HOME' }, headers: { 'X-Note': 'a $note' } };
    const { status, body } = await api.post(`T/listeners/${id}/test-delivery`, given);
    expect({ status, ...body }).toMatchObject({ status: 200, isAccepted: true, eventID: expect.any(String) });
    const { event } = (await api.get(`T/listeners/${id}/events/${body.eventID}`)).body;
    expect(JSON.parse(event.bodyText)).toEqual(given.body);
    expect(JSON.stringify(event)).not.toContain('a secret');
    for (const part of [SECRET, 'whsec_YS', 'plain']) expect(body.curl).not.toContain(part);

    const secret = options.password || options.bearerToken || options.authSecret || '';
    const script = body.curl.replace("SECRET='put the secret here'", `SECRET='${secret}'`);
    // The public address of the tests is that of no server.
    const from = cluster.config.console.publicURL;
    const here = `FROM='${from}'; TO='${cluster.baseURL}'; curl() { command curl "\${@/"$FROM"/$TO}"; }`;
    const { stdout } = await promisify(execFile)('bash', ['-c', `${here}\n${script}`]);
    expect(stdout).toMatch(/^HTTP\/1\.1 200/);
    expect(stdout).toContain('Event received');
  });

  test('a preview sends nothing; an inactive listener, and one without an address, are told', async () => {
    const { id } = await aListener(cluster, { tenant, status: 'inactive' });
    const api = cluster.as(tenant.creator).in(tenant);
    const preview = await api.post(`T/listeners/${id}/test-delivery?preview=true`, {});
    expect(preview.body).toMatchObject({
      status: null,
      eventID: null,
      curl: expect.stringContaining('curl -i -X POST'),
    });
    expect((await api.post(`T/listeners/${id}/test-delivery`, {})).body.error).toMatchObject({ code: 'CONFLICT' });
    const bad = await api.post(`T/listeners/${id}/test-delivery`, { headers: { 'a b': '1', c: '1\n2' } });
    expect(bad.status).toBe(400);
    const { rows } = await cluster.pool.query('select from listener_event where listener_id = $1', [id]);
    expect(rows).toEqual([]);
    const reader = await aMember(cluster, { tenant, can: ['listener.read'] });
    expect((await cluster.as(reader).in(tenant).post(`T/listeners/${id}/test-delivery`, {})).status).toBe(403);
  });
});
