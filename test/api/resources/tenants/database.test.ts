import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKeyRing } from '#shared/core/key-ring.ts';
import { MASK } from '#shared/core/schema/secret.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import type { Answer } from '../../../support/client.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { testServers } from '../../../support/environment.ts';
import { aTenant, aUser, type TestUser } from '../../../support/factories.ts';
import { nodeEnvironment, spawnNode } from '../../../support/process.ts';
import { eventually } from '../../../support/settle.ts';
import { startTCP } from '../../../support/tcp.ts';

let cluster: Cluster;
let user: TestUser;
beforeAll(async () => {
  cluster = await startCluster({ workers: ['datasource.tests'] });
  user = await aUser(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const url = 'postgres://app:topsecret@db.example.com/app';

function withParts(change: (url: URL) => void): string {
  const changed = new URL(testServers.datasourceURL);
  change(changed);
  return changed.href;
}

function tryOut(tenantDBURL: unknown): Promise<Answer> {
  return cluster.as(user).patch('/api/v1/tenants/dbtest', { tenantDBURL });
}

describe("a tenant's database", () => {
  test('is tested after the tenant was created, and the tenant stays when the test fails', async () => {
    const api = cluster.as(user);
    const headers = { 'Idempotency-Key': 'tried' };
    const create = (tenantDBURL?: string) =>
      api.post('/api/v1/tenants', { tenantTitle: 'Tried', tenantDBURL }, headers);
    await using closed = await startTCP((socket) => socket.destroy());

    const good = await create(testServers.datasourceURL);
    const again = await create(testServers.datasourceURL);
    const bad = await api.post('/api/v1/tenants', {
      tenantTitle: 'Tried',
      tenantDBURL: `postgres://u:p4ssw0rd@127.0.0.1:${closed.port}/d`,
    });
    const none = await api.post('/api/v1/tenants', { tenantTitle: 'None' });

    expect(good).toMatchObject({ status: 201, body: { tenantDBConnection: { connected: true } } });
    expect(again.body).toEqual(good.body);
    expect(bad).toMatchObject({
      status: 201,
      body: { tenantDBConnection: { connected: false, message: expect.any(String) } },
    });
    expect(JSON.stringify(bad.body)).not.toContain('p4ssw0rd');
    expect((await api.in(bad.body.tenant).get('T/')).status).toBe(200);
    expect(none.body).not.toHaveProperty('tenantDBConnection');
  });

  test('is given when the tenant is created, stored encrypted and never shown', async () => {
    const api = cluster.as(user);

    const created = await api.post(
      '/api/v1/tenants',
      { tenantTitle: 'Own', tenantDBURL: url },
      { 'Idempotency-Key': 'k' },
    );
    const { id } = created.body.tenant;
    const seen = [created, await api.in({ id }).get('T/'), await api.get('/api/v1/tenants')];

    expect(created.body.tenant.tenantDBURL).toBe(MASK);
    expect(JSON.stringify(seen.map(({ body }) => body))).not.toContain('topsecret');
    const { rows } = await cluster.context.pool.query(
      'select to_jsonb(t) as row, tenant_db_url from tenant t where id = $1',
      [id],
    );
    expect(JSON.stringify(rows)).not.toContain('topsecret');
    expect(cluster.context.secrets.open(rows[0].tenant_db_url, sealedColumns.tenantDBURL.context(id))).toBe(url);
    const { rows: stored } = await cluster.context.pool.query('select to_jsonb(i) as row from idempotency i');
    expect(JSON.stringify(stored)).not.toContain('topsecret');
  });

  test('is null when the tenant has none', async () => {
    for (const body of [{ tenantTitle: 'None' }, { tenantTitle: 'None', tenantDBURL: null }])
      expect((await cluster.as(user).post('/api/v1/tenants', body)).body.tenant.tenantDBURL).toBeNull();
  });

  test('cannot be changed: an update names it in the error and changes nothing', async () => {
    const tenant = await aTenant(cluster, { tenantTitle: 'Before' });
    const api = cluster.as(tenant.creator).in(tenant);

    for (const tenantDBURL of [url, null, MASK])
      expect(await api.patch('T/', { tenantTitle: 'After', tenantDBURL })).toMatchObject({
        status: 400,
        body: {
          error: { code: 'VALIDATION_ERROR', message: 'tenantDBURL: can be given only when the tenant is created' },
        },
      });
    expect((await api.get('T/')).body.tenant.tenantTitle).toBe('Before');
  });

  test('must be a URL of a supported kind, which the error does not repeat', async () => {
    for (const bad of ['mysql://u:topsecret@h/d', 'topsecret', 'postgres://u:topsecret@h/d?host=/tmp', 7, '']) {
      const answer = await cluster.as(user).post('/api/v1/tenants', { tenantTitle: 'Bad', tenantDBURL: bad });
      expect(answer).toMatchObject({
        status: 400,
        body: { error: { message: expect.stringMatching(/^tenantDBURL: /) } },
      });
      expect(JSON.stringify(answer.body)).not.toContain('topsecret');
    }
  });
});

describe('dbtest', () => {
  test('reports that a connection works', async () => {
    expect(await tryOut(testServers.datasourceURL)).toMatchObject({
      status: 200,
      body: { success: true, connectionResult: true },
    });
  });

  test.each([
    ['a wrong password', 'authentication', () => withParts((to) => (to.password = 'topsecret'))],
    ['no password', 'authentication', () => withParts((to) => (to.password = ''))],
    ['an unknown user', 'authentication', () => withParts((to) => (to.username = 'nobody'))],
    ['no such database', 'not-found', () => withParts((to) => (to.pathname = '/not_there'))],
    ['nothing listening', 'unreachable', () => 'postgres://u:topsecret@127.0.0.1:1/d'],
    ['no such host', 'unreachable', () => 'postgres://u:topsecret@no-such-host.invalid/d'],
    ['a server without encryption', 'tls', () => withParts((to) => (to.search = '?sslmode=require'))],
    ['a private address', 'not-allowed', () => 'postgres://u:topsecret@10.0.0.1/d'],
    ['the metadata of a cloud', 'not-allowed', () => 'postgres://u:topsecret@169.254.169.254/d'],
    ['all addresses of the machine', 'not-allowed', () => 'postgres://u:topsecret@0.0.0.0/d'],
  ])('reports %s without any credential', async (_what, reason, make) => {
    const tenantDBURL = make();

    const answer = await tryOut(tenantDBURL);

    expect(answer).toMatchObject({ status: 502, body: { error: { code: 'UPSTREAM_FAILED', details: { reason } } } });
    expect(JSON.stringify(answer.body)).not.toMatch(/topsecret|stack/);
    expect(JSON.stringify(answer.body)).not.toContain(new URL(testServers.datasourceURL).password);
  });

  test('does not repeat the answer of a server of another kind', async () => {
    await using ssh = await startTCP((socket) => socket.end('SSH-2.0-topsecret\r\n'));
    await using chatty = await startTCP((socket) => {
      const fields = Buffer.from('SFATAL\0C28P01\0Mtopsecret banner\0\0');
      const length = Buffer.alloc(4);
      length.writeInt32BE(fields.length + 4);
      socket.end(Buffer.concat([Buffer.from('E'), length, fields]));
    });

    for (const { port } of [ssh, chatty]) {
      const answer = await tryOut(`postgres://u:p@127.0.0.1:${port}/d`);
      expect(answer).toMatchObject({ status: 502, body: { error: { code: 'UPSTREAM_FAILED' } } });
      expect(JSON.stringify(answer.body)).not.toContain('topsecret');
    }
  });

  /** Messages "authentication succeeded" and "ready for query". */
  const ready = Buffer.from('5200000008000000005a0000000549', 'hex');

  test('gives up on a server that is silent, and on one that keeps the connection open', async () => {
    await using silent = await startTCP();
    // Accepts any client, and then falls silent.
    await using mute = await startTCP((socket) => void socket.once('data', () => socket.write(ready)));
    // Answers every message, and does not close.
    await using clinging = await startTCP((socket) => void socket.on('data', () => socket.write(ready)));

    const [first, second, third] = await Promise.all(
      [silent, mute, clinging].map(({ port }) => tryOut(`postgres://u:p@127.0.0.1:${port}/d?sslmode=disable`)),
    );

    for (const answer of [first, second])
      expect(answer).toMatchObject({
        status: 504,
        body: { error: { code: 'UPSTREAM_TIMEOUT', details: { reason: 'timeout' } } },
      });
    expect(third).toMatchObject({ status: 200 });
  });

  test('cannot scan ports: each user has a limit of concurrent tests', async () => {
    const silent = await startTCP();
    const scan = Array.from({ length: 8 }, () => tryOut(`postgres://u:p@127.0.0.1:${silent.port}/d`));

    await eventually(() => expect(silent.connections()).toBe(4));
    await sleep(500);

    // The others wait for their turn.
    expect(silent.connections()).toBe(4);
    await silent[Symbol.asyncDispose]();
    await Promise.all(scan);
  });

  test('ends although the message of a server never ends', async () => {
    await using endless = await startTCP(
      (socket) => void socket.once('data', () => socket.write('E\0\0\0\x06SE', 'latin1')),
    );

    const answer = await tryOut(`postgres://u:p@127.0.0.1:${endless.port}/d`);

    expect(answer).toMatchObject({
      status: 502,
      body: { error: { code: 'UPSTREAM_FAILED', details: { reason: 'refused' } } },
    });
    expect(await tryOut(testServers.datasourceURL)).toMatchObject({ status: 200 });
  });

  test('needs a URL, and names the supported kinds', async () => {
    for (const bad of [undefined, 7, '', 'mysql://u:topsecret@h/d'])
      expect(await tryOut(bad)).toMatchObject({
        status: 400,
        body: { error: { code: 'VALIDATION_ERROR', message: expect.stringMatching(/^tenantDBURL: /) } },
      });
    expect((await tryOut('mysql://u:p@h/d')).body.error.message).toContain('postgres://');
  });
});

describe('rotation', () => {
  const old = cluster0Key();
  const next = `next:${randomBytes(32).toString('base64')}`;

  test('encrypts every stored secret again while requests read them, and reports unreadable ones', async () => {
    const api = cluster.as(user);
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1)
      ids.push((await api.post('/api/v1/tenants', { tenantTitle: `${n}`, tenantDBURL: `${url}${n}` })).body.tenant.id);

    expect(await rotate(`${next},${old}`)).toBe(0);

    const both = createKeyRing(keysOf(next, old));
    const onlyNew = createKeyRing(keysOf(next));
    const { rows } = await cluster.context.pool.query(
      'select id, tenant_db_url as sealed from tenant where id = any($1)',
      [ids],
    );
    expect(rows).toHaveLength(5);
    for (const { id, sealed } of rows) {
      expect(both.isCurrent(sealed, sealedColumns.tenantDBURL.context(id))).toBe(true);
      expect(onlyNew.open(sealed, sealedColumns.tenantDBURL.context(id))).toMatch(/app\d$/);
    }

    // The second pass finds nothing to do and changes nothing.
    expect(await rotate(`${next},${old}`)).toBe(0);
    const { rows: after } = await cluster.context.pool.query(
      'select id, tenant_db_url as sealed from tenant where id = any($1)',
      [ids],
    );
    expect(new Map(after.map(({ id, sealed }) => [id, sealed]))).toEqual(
      new Map(rows.map(({ id, sealed }) => [id, sealed])),
    );

    // A secret moved to another row is not readable, and is left alone.
    await cluster.context.pool.query('update tenant set tenant_db_url = $2 where id = $1', [
      ids[0],
      rows.find(({ id }) => id === ids[1])?.sealed,
    ]);
    expect(await rotate(`third:${randomBytes(32).toString('base64')},${next}`)).toBe(1);
  });

  test('does not start without keys', async () => {
    expect(await rotate('')).toBe(1);
  });

  async function rotate(SECRETS_KEYS: string): Promise<number | null> {
    await using process = spawnNode(['ops/rotate-secrets.ts'], { ...cluster.env, SECRETS_KEYS });
    const [code] = process.child.exitCode === null ? await once(process.child, 'exit') : [process.child.exitCode];
    return code;
  }
});

function cluster0Key(): string {
  return `test:${Buffer.alloc(32, 7).toString('base64')}`;
}

function keysOf(...keys: string[]) {
  return keys.map((text) => {
    const [id = '', key = ''] = text.split(':');
    return { id, key: Buffer.from(key, 'base64') };
  });
}

test('no log of API or worker holds the URL or its password', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'gantry-log-'));
  const path = join(dir, 'log');
  const file = await open(path, 'a');
  const env = nodeEnvironment({ ...cluster.env, LOG_LEVEL: 'trace', PORT: '0' });
  const children = [['api/main.ts'], ['workers/main.ts', 'datasource.tests']].map((args) =>
    spawn(process.execPath, args, { env, stdio: ['ignore', file.fd, file.fd] }),
  );
  try {
    let port = '';
    await eventually(async () => {
      const log = await readFile(path, 'utf8');
      expect(log).toContain('worker is taking jobs');
      port = /"port":(\d+)/.exec(log)?.[1] ?? '';
      expect(port).not.toBe('');
      // Two processes start beside everything else that runs.
    });
    const api = cluster.as(user, { baseURL: `http://127.0.0.1:${port}` });
    const bad = [withParts((to) => (to.password = 'topsecret')), 'postgres://u:topsecret@127.0.0.1:1/d', 'topsecret'];
    for (const tenantDBURL of [...bad, ...bad]) await api.patch('/api/v1/tenants/dbtest', { tenantDBURL });
    await api.post('/api/v1/tenants', { tenantTitle: 'Logged', tenantDBURL: url });

    const log = await readFile(path, 'utf8');
    expect(log).toContain('UPSTREAM_FAILED');
    expect(log).not.toContain('topsecret');
  } finally {
    for (const child of children) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    await file.close();
    await rm(dir, { recursive: true });
  }
});
