import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKeyRing } from '#shared/core/key-ring.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import type { Client } from '../../../support/client.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { tenantServer } from '../../../support/database.ts';
import { aMember, aTenant, type TestTenant } from '../../../support/factories.ts';
import { eventually } from '../../../support/settle.ts';
import { startTCP } from '../../../support/tcp.ts';

let cluster: Cluster;
let tenant: TestTenant;
let api: Client;

beforeAll(async () => {
  cluster = await startCluster({ workers: ['tenant.database'] });
  tenant = await aTenant(cluster);
  api = cluster.as(tenant.creator).in(tenant);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const path = 'T/database/execute-raw-sql';
const run = (body: object) => api.post(path, body);

test('SQL is executed with parameters, under both field names', async () => {
  for (const field of ['sql', 'query']) {
    const answer = await run({ [field]: 'select $1::int + 1 as n, now() as at', params: [1] });
    expect(answer).toMatchObject({
      status: 200,
      body: { success: true, result: [{ n: 2, at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) }], rowCount: 1 },
    });
  }
});

test.each<[string, object]>([
  ['sql', {}],
  ['sql', { sql: '' }],
  ['sql', { sql: 7 }],
  ['params', { sql: 'select 1', params: 'x' }],
  ['timeoutSeconds', { sql: 'select 1', timeoutSeconds: 301 }],
  ['maxRows', { sql: 'select 1', maxRows: 10_001 }],
  ['readOnly', { sql: 'select 1', readOnly: 'yes' }],
])('%s is named: %j', async (field, body) => {
  const answer = await run(body);
  expect(answer).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
  expect(answer.body.error.message).toContain(`${field}: `);
});

test('of many rows, the answer has the requested number, as far as its size allows', async () => {
  const rows = (width: number) => `select n, repeat('x', ${width}) as pad from generate_series(1, 100000) n`;

  for (const width of [300, 3_000]) {
    const { status, body } = await run({ sql: rows(width), maxRows: 10_000 });
    expect(status, JSON.stringify(body.error)).toBe(200);
    expect(body.results[0].truncated).toBe(true);
    expect(body.result.length).toBeGreaterThan(width === 300 ? 9_999 : 1_000);
  }
});

test('a caller who may read rows may not execute SQL', async () => {
  const member = await aMember(cluster, {
    tenant,
    can: ['database.rowList', 'database.tableList', 'database.metadata'],
  });
  const theirs = cluster.as(member).in(tenant);

  expect((await theirs.post(path, { sql: 'select 1' })).status).toBe(403);
  expect((await theirs.get('T/database/metadata')).status).toBe(200);
});

describe('a statement that runs long', () => {
  const active = async (mark: string) => {
    const { rows } = await tenantServer.query(
      `select count(*)::int as n from pg_stat_activity where state = 'active' and query like $1 and pid <> pg_backend_pid()`,
      [`%${mark}%`],
    );
    return rows[0]?.n;
  };

  test('is cancelled at the server when the client disconnects', async () => {
    const client = new AbortController();
    const answer = fetch(`${cluster.baseURL}/api/v1/tenants/${tenant.id}/database/execute-raw-sql`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await cluster.tokenFor(tenant.creator)}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ sql: 'select pg_sleep(300) /* abandoned */' }),
      signal: client.signal,
    }).catch((error) => error);
    await eventually(async () => expect(await active('abandoned')).toBe(1));

    client.abort();

    await answer;
    await eventually(async () => expect(await active('abandoned')).toBe(0));
  });

  test('is ended by its own time limit, and the error says so', async () => {
    const answer = await run({ sql: 'select pg_sleep(300)', timeoutSeconds: 0.30012345 });
    expect(answer).toMatchObject({
      status: 504,
      body: { error: { code: 'UPSTREAM_TIMEOUT', details: { postgres_code: '57014' } } },
    });
  });

  test('is ended also when the server has its statement timeout off', async () => {
    const answer = await run({
      sql: 'set statement_timeout = 0; select pg_sleep(300) /* unlimited */',
      timeoutSeconds: 0.5,
    });

    expect(answer).toMatchObject({ status: 504, body: { error: { code: 'UPSTREAM_TIMEOUT' } } });
    await eventually(async () => expect(await active('unlimited')).toBe(0));
  });
});

test('a connection that is lost during a statement is an error that says so', async () => {
  const answer = run({ sql: 'select pg_sleep(300) /* cut */' });
  await eventually(async () => {
    const { rows } = await tenantServer.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where query like '%cut%' and state = 'active' and pid <> pg_backend_pid()`,
    );
    expect(rows.length).toBe(1);
  });

  expect(await answer).toMatchObject({
    status: 502,
    body: { error: { code: 'UPSTREAM_FAILED', details: { reason: 'lost' } } },
  });
  expect((await run({ sql: 'select 1' })).status).toBe(200);
});

test("a tenant's unresponsive database does not delay other tenants", async () => {
  await using silent = await startTCP();
  const hanging = await aTenant(cluster);
  const secrets = createKeyRing(cluster.config.secrets.keys);
  const url = `postgres://u:p@127.0.0.1:${silent.port}/d`;
  await cluster.pool.query('update tenant set tenant_db_url = $2 where id = $1', [
    hanging.id,
    secrets.seal(url, sealedColumns.tenantDBURL.context(hanging.id)),
  ]);
  const theirs = cluster.as(hanging.creator).in(hanging);
  let answered = 0;
  const waits = Array.from({ length: 12 }, () => theirs.post(path, { sql: 'select 1' }).finally(() => (answered += 1)));
  await silent.connected;

  for (let n = 0; n < 10; n += 1) expect((await run({ sql: 'select 1' })).status).toBe(200);
  expect(answered).toBe(0);
  for (const answer of await Promise.all(waits))
    expect(answer).toMatchObject({ status: 504, body: { error: { code: 'UPSTREAM_TIMEOUT' } } });
});

describe('the same Idempotency-Key', () => {
  const keyed = (sql: string, key: string) => api.post(path, { sql }, { 'Idempotency-Key': key });
  const count = async (table: string) =>
    (await run({ sql: `select count(*)::int as n from ${table}` })).body.result[0].n;

  test.each<[string, number, string]>([
    ['begin; insert into TABLE values (1); commit; select 1/0', 400, 'DB_ERROR'],
    [`insert into TABLE values (1) returning repeat('x', 20000000)`, 413, 'PAYLOAD_TOO_LARGE'],
  ])('repeats the error after %s', async (text, status, code) => {
    const table = `keyed_${status}`;
    await run({ sql: `create table ${table} (id int)` });
    const sql = text.replace('TABLE', table);

    const [first, again] = [await keyed(sql, table), await keyed(sql, table)];

    expect(first).toMatchObject({ status, body: { error: { code } } });
    expect([again.status, again.body]).toEqual([status, first.body]);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(await count(table)).toBe(1);
  });

  test('does not run statements again that were refused half way', async () => {
    await run({ sql: 'create table keyed_copy (id int)' });
    const sql = 'begin; insert into keyed_copy values (1); commit; copy keyed_copy from stdin';

    const [first, again] = [await keyed(sql, 'copy'), await keyed(sql, 'copy')];

    expect(first).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
    expect(again).toMatchObject({ status: 409, body: { error: { message: expect.stringMatching(/unknown/) } } });
    expect(await count('keyed_copy')).toBe(1);
  });

  test('can be used again when the request only waited for a connection', async () => {
    await run({ sql: 'create table keyed_line (id int)' });
    const sleeping = Array.from({ length: 5 }, () => run({ sql: 'select pg_sleep(300) /* in line */' }));
    const ofSleepers = `from pg_stat_activity where state = 'active' and query = 'select pg_sleep(300) /* in line */'`;
    await eventually(async () => {
      const { rows } = await tenantServer.query(`select ${ofSleepers}`);
      expect(rows).toHaveLength(5);
    });
    const insert = () =>
      api.post(path, { sql: 'insert into keyed_line values (1)', timeoutSeconds: 0.1 }, { 'Idempotency-Key': 'line' });

    expect(await insert()).toMatchObject({
      status: 504,
      body: {
        error: {
          code: 'UPSTREAM_TIMEOUT',
          message: "All 5 connections to the tenant's database were taken; nothing was done",
          details: { begun: false },
        },
      },
    });
    await tenantServer.query(`select pg_cancel_backend(pid) ${ofSleepers}`);
    await Promise.all(sleeping);
    expect((await insert()).status).toBe(200);
    expect(await count('keyed_line')).toBe(1);
  });
});

test('a tenant without a database is told why when the deployment provides none', async () => {
  await using strict = await startCluster({ workers: ['tenant.database'], settings: { TENANT_DATABASES: 'false' } });
  const own = await aTenant(strict);

  const answer = await strict.as(own.creator).in(own).get('T/database/metadata');

  expect(answer).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
  expect(answer.body.error.message).toContain('TENANT_DATABASES');
});

test('deleting a tenant deletes its database', async () => {
  const dropped = await aTenant(cluster);
  const theirs = cluster.as(dropped.creator).in(dropped);
  await theirs.post(path, { sql: 'create table t (id int)' });
  const { rows } = await cluster.pool.query('select database_name as name from tenant_database where tenant_id = $1', [
    dropped.id,
  ]);

  expect((await theirs.delete('T/')).status).toBe(200);

  await eventually(async () => {
    const left = await tenantServer.query(
      'select datname from pg_database where datname = $1 union all select rolname from pg_roles where rolname = $1',
      [rows[0].name],
    );
    expect(left.rows).toEqual([]);
  });
});
