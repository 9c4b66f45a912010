import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { createKeyRing } from '#shared/core/key-ring.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import { deleteTenant, resumeDeletions } from '#shared/tenants/delete-tenant.ts';
import { broughtDatabase, onServer, tenantServer } from '../../../support/database.ts';
import { testServers } from '../../../support/environment.ts';
import { eventually } from '../../../support/settle.ts';
import { startTCP } from '../../../support/tcp.ts';
import {
  aTenantDatabases,
  databasesOf,
  removeDatabases,
  type TestDatabases,
} from '../../../support/tenant-databases.ts';

let database: TestDatabases;
beforeAll(async () => {
  database = await aTenantDatabases();
});
afterAll(() => database[Symbol.asyncDispose]());

const never = new AbortController().signal;

/** A tenant with a database of its own, or with the one of a URL. */
async function aTenant(url?: string): Promise<string> {
  const id = newID();
  const sealed = url
    ? createKeyRing(database.deployment.config.secrets.keys).seal(url, sealedColumns.tenantDBURL.context(id))
    : null;
  await database.deployment.pool.query(
    'insert into tenant (id, tenant_title, creator_id, tenant_db_url) values ($1, $2, $3, $4)',
    [id, 'A tenant', newID(), sealed],
  );
  return id;
}

async function nameOf(tenantID: string, databases = database.databases): Promise<string> {
  return databases.withConnection(tenantID, never, async (client) => {
    const { rows } = await client.query<{ name: string }>('select current_database() as name');
    return rows[0]?.name ?? '';
  });
}

async function there(name: string): Promise<[databases: number, roles: number]> {
  const { rows } = await tenantServer.query(
    'select (select count(*)::int from pg_database where datname = $1) as d, (select count(*)::int from pg_roles where rolname = $1) as r',
    [name],
  );
  return [rows[0]?.d, rows[0]?.r];
}

describe('a database of its own', () => {
  test('is created once by two concurrent processes', async () => {
    const tenantID = await aTenant();
    await using second = databasesOf(database.deployment);

    const names = await Promise.all(
      [1, 2, 3, 4, 5, 6].map((n) => nameOf(tenantID, n % 2 ? database.databases : second)),
    );

    expect(new Set(names).size).toBe(1);
    expect(await there(names[0] ?? '')).toEqual([1, 1]);
  });

  test('is created for each of many concurrent tenants', async () => {
    const tenants = await Promise.all(Array.from({ length: 6 }, () => aTenant()));

    const names = await Promise.all(tenants.map((tenantID) => nameOf(tenantID)));

    expect(new Set(names).size).toBe(6);
  });

  test('is created to the end on the next attempt after an interruption', async () => {
    const tenantID = await aTenant();
    const name = await nameOf(tenantID);
    await database.deployment.pool.query('update tenant_database set ready_at = null where tenant_id = $1', [tenantID]);

    expect(await nameOf(tenantID)).toBe(name);
  });

  test('is deleted with the tenant, although a client is connected', async () => {
    const tenantID = await aTenant();
    const name = await nameOf(tenantID);

    await deleteTenant(database.deployment.pool, database.deployment.runs, tenantID);
    await removeDatabases(database);

    expect(await there(name)).toEqual([0, 0]);
    await expect(nameOf(tenantID)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  test('is deleted when an interrupted deletion of the tenant is resumed, also if parts of it do not exist any more', async () => {
    const { pool, runs } = database.deployment;
    const [whole, half] = [await aTenant(), await aTenant()];
    const names = [await nameOf(whole), await nameOf(half)];
    await tenantServer.query(`drop database ${names[1]} with (force)`);
    await pool.query(`update tenant set deleting_at = now() - interval '5 minutes' where id = any($1)`, [
      [whole, half],
    ]);

    await resumeDeletions(pool, runs, () => expect.unreachable());
    await removeDatabases(database);

    for (const name of names) expect(await there(name)).toEqual([0, 0]);
  });

  test('is not created when the deployment turns them off', async () => {
    await using off = await aTenantDatabases({ TENANT_DATABASES: 'false' });

    await expect(off.use((client) => client.query('select 1'))).rejects.toMatchObject({
      code: 'CONFLICT',
      status: 409,
    });
  });
});

describe('a database with a URL of the tenant', () => {
  test('is used, and another one as soon as the URL changes', async () => {
    await using first = await broughtDatabase();
    await using second = await broughtDatabase();
    const tenantID = await aTenant(first.url);
    const nameIn = (url: string) => new URL(url).pathname.slice(1);

    expect(await nameOf(tenantID)).toBe(nameIn(first.url));
    const secrets = createKeyRing(database.deployment.config.secrets.keys);
    const sealed = secrets.seal(second.url, sealedColumns.tenantDBURL.context(tenantID));
    await database.deployment.pool.query('update tenant set tenant_db_url = $2 where id = $1', [tenantID, sealed]);
    expect(await nameOf(tenantID)).toBe(nameIn(second.url));
    await eventually(async () => {
      const rows = await onServer(`select 1 from pg_stat_activity where datname = $1`, {
        url: testServers.datasourceURL,
        values: [nameIn(first.url)],
      });
      expect(rows).toEqual([]);
    });
  });

  test('is subject to the outbound rules', async () => {
    await using guarded = await aTenantDatabases({ OUTBOUND_ALLOW: '' });
    const { pool, config, tenantID } = guarded.deployment;
    const sealed = createKeyRing(config.secrets.keys).seal(
      testServers.datasourceURL,
      sealedColumns.tenantDBURL.context(tenantID),
    );
    await pool.query('update tenant set tenant_db_url = $2 where id = $1', [tenantID, sealed]);

    await expect(guarded.use((client) => client.query('select 1'))).rejects.toMatchObject({
      code: 'UPSTREAM_FAILED',
      details: { reason: 'not-allowed' },
    });
  });

  test('that accepts connections and never answers does not delay other tenants', async () => {
    await using silent = await startTCP();
    const hanging = await aTenant(`postgres://u:p@127.0.0.1:${silent.port}/d`);
    const healthy = await aTenant();
    await nameOf(healthy);
    let failed = 0;
    const fails = (error: unknown) => {
      failed += 1;
      return error;
    };
    const waits = Array.from({ length: 10 }, () => nameOf(hanging).catch(fails));
    await silent.connected;

    for (let n = 0; n < 20; n += 1) await nameOf(healthy);
    expect(failed).toBe(0);
    expect(silent.connections()).toBe(5);

    for (const error of await Promise.all(waits))
      expect(error).toMatchObject({ code: 'UPSTREAM_TIMEOUT', details: { reason: 'timeout' } });
  });
});

test('a tenant has at most five connections per process, and further requests wait instead of failing', async () => {
  const tenantID = await aTenant();
  const name = await nameOf(tenantID);
  let most = 0;

  await Promise.all(
    Array.from({ length: 20 }, () =>
      database.databases.withConnection(tenantID, never, async (client) => {
        await client.query('select pg_sleep(0.05)');
        const { rows } = await tenantServer.query(
          'select count(*)::int as n from pg_stat_activity where datname = $1',
          [name],
        );
        most = Math.max(most, rows[0]?.n);
      }),
    ),
  );

  expect(most).toBe(5);
});

test('an abort reaches the server', async () => {
  const tenantID = await aTenant();
  const name = await nameOf(tenantID);
  const controller = new AbortController();
  const active = async () => {
    const { rows } = await tenantServer.query(
      `select count(*)::int as n from pg_stat_activity where datname = $1 and state = 'active'`,
      [name],
    );
    return rows[0]?.n;
  };

  const work = database.databases.withConnection(tenantID, controller.signal, (client) =>
    client.query('select pg_sleep(300)'),
  );
  work.catch(() => undefined);
  await eventually(async () => expect(await active()).toBe(1));
  controller.abort(new Error('client disconnected'));

  await expect(work).rejects.toThrow('client disconnected');
  await eventually(async () => expect(await active()).toBe(0));
  expect(await nameOf(tenantID)).toBe(name);
});

test('a lost server is an error that says so, and the next request connects again', async () => {
  const tenantID = await aTenant();
  const name = await nameOf(tenantID);
  const end = () =>
    tenantServer.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);

  const work = database.databases.withConnection(tenantID, never, (client) => client.query('select pg_sleep(300)'));
  work.catch(() => undefined);
  await eventually(async () => {
    const { rows } = await tenantServer.query(
      `select from pg_stat_activity where datname = $1 and state = 'active' and query like '%pg_sleep%'`,
      [name],
    );
    expect(rows).toHaveLength(1);
  });
  await end();

  await expect(work).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', details: { reason: 'lost' } });
  expect(await nameOf(tenantID)).toBe(name);
  await end();
  await eventually(async () => expect(await nameOf(tenantID)).toBe(name));
});

test('session state of one request does not reach the next', async () => {
  const tenantID = await aTenant();
  await database.databases.withConnection(tenantID, never, async (client) => {
    await client.query('create table kept (id int)');
    await client.query(
      `set timezone to 'Asia/Kolkata'; set standard_conforming_strings to off; listen somebody; begin; insert into kept values (1)`,
    );
  });

  await database.databases.withConnection(tenantID, never, async (client) => {
    const { rows } = await client.query(
      `select current_setting('timezone') as zone, current_setting('standard_conforming_strings') as strings, (select count(*)::int from kept) as kept, (select count(*)::int from pg_listening_channels()) as heard`,
    );
    expect(rows).toEqual([{ zone: 'UTC', strings: 'on', kept: 0, heard: 0 }]);
  });
});

test('an error names no part of the connection', async () => {
  const tenantID = await aTenant('postgres://somebody:topsecret@127.0.0.1:1/nowhere');

  const error = await nameOf(tenantID).catch((thrown) => thrown);

  expect(error).toMatchObject({ code: 'UPSTREAM_FAILED' });
  expect(JSON.stringify([error.message, error.details])).not.toMatch(/topsecret|somebody/);
  expect(pg.defaults.password).toBeNull();
});
