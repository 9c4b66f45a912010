import { describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { readConfig } from '#shared/process/config.ts';
import { deleteTenant } from '#shared/tenants/delete-tenant.ts';
import { deniedBy } from '#workers/outbound/own-addresses.ts';
import { tenantServer } from '../../../support/database.ts';
import { testServers } from '../../../support/environment.ts';
import { aTenantDatabases, removeDatabases, type TestDatabases } from '../../../support/tenant-databases.ts';

const never = new AbortController().signal;
const [a, b] = [`a=${testServers.tenantsURL}`, `b=${testServers.datasourceURL}`];

async function aTenant({ deployment: { pool } }: TestDatabases): Promise<string> {
  const id = newID();
  await pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, 'A tenant', $1)`, [id]);
  return id;
}

/** Creates the tenant's database and answers with the name and the port of the server that it is on. */
async function serverOf(tested: TestDatabases, tenantID: string): Promise<{ name: string; port: string }> {
  const port = await tested.databases.withConnection(tenantID, never, async (client) => {
    const { rows } = await client.query<{ port: string }>(`select current_setting('port') as port`);
    return rows[0]?.port ?? '';
  });
  const { rows } = await tested.deployment.pool.query('select server from tenant_database where tenant_id = $1', [
    tenantID,
  ]);
  return { name: rows[0].server, port };
}

const portOf = (url: string) => new URL(url).port;

test('a server takes 500 databases unless the setting says otherwise', () => {
  const env = { DATABASE_URL: 'postgres://x/y' };

  expect(readConfig(env).tenantDatabases.maxPerServer).toBe(500);
  expect(readConfig({ ...env, TENANT_DATABASES_PER_SERVER: '7' }).tenantDatabases.maxPerServer).toBe(7);
});

describe('a new database', () => {
  test('goes to the emptiest server, and its server is remembered', async () => {
    await using tested = await aTenantDatabases({ TENANT_DATABASES_URL: `${a},${b}` });
    const found = [];
    for (let n = 0; n < 4; n += 1) found.push(await serverOf(tested, await aTenant(tested)));

    expect(found.filter(({ name }) => name === 'a')).toHaveLength(2);
    for (const { name, port } of found)
      expect(port).toBe(portOf(name === 'a' ? testServers.tenantsURL : testServers.datasourceURL));
  });

  test('skips full servers, and is refused when all are full', async () => {
    await using tested = await aTenantDatabases({
      TENANT_DATABASES_URL: `${a},${b}`,
      TENANT_DATABASES_PER_SERVER: '1',
    });
    const tenants = await Promise.all([1, 2, 3].map(() => aTenant(tested)));

    const answers = await Promise.allSettled(tenants.map((tenantID) => serverOf(tested, tenantID)));

    const names = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value.name : []));
    expect(names.sort()).toEqual(['a', 'b']);
    const [refused] = answers.flatMap((answer) => (answer.status === 'rejected' ? answer.reason : []));
    expect(refused).toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('TENANT_DATABASES_PER_SERVER'),
    });
  });

  test('takes the capacity of one that waits to be dropped only when that is dropped', async () => {
    await using tested = await aTenantDatabases({ TENANT_DATABASES_URL: a, TENANT_DATABASES_PER_SERVER: '1' });
    const [first, second] = [await aTenant(tested), await aTenant(tested)];
    await serverOf(tested, first);

    await deleteTenant(tested.deployment.pool, tested.deployment.runs, first);

    await expect(serverOf(tested, second)).rejects.toThrow('TENANT_DATABASES_PER_SERVER');
    expect(await removeDatabases(tested)).toBe(1);
    expect(await serverOf(tested, second)).toMatchObject({ name: 'a' });
  });

  test('goes elsewhere when the emptiest server is away', async () => {
    await using tested = await aTenantDatabases({ TENANT_DATABASES_URL: `away=postgres://x:y@127.0.0.1:1/x,${a}` });

    expect(await serverOf(tested, await aTenant(tested))).toMatchObject({ name: 'a' });
  });

  test('is refused without a server, by the name of the setting', async () => {
    await using tested = await aTenantDatabases({ TENANT_DATABASES_URL: '' });

    await expect(serverOf(tested, await aTenant(tested))).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('TENANT_DATABASES_URL is not set'),
    });
  });

  test('is on the server of DATABASE_URL only if the setting says so by name', async () => {
    await using tested = await aTenantDatabases({ TENANT_DATABASES_URL: 'DATABASE_URL' });
    const { env } = tested.deployment;

    expect(await serverOf(tested, await aTenant(tested))).toEqual({
      name: 'DATABASE_URL',
      port: portOf(testServers.databaseURL),
    });
    const { rows } = await tested.deployment.pool.query(
      `select has_database_privilege('public', current_database(), 'CONNECT') as open`,
    );
    expect(rows, "the deployment's own database").toEqual([{ open: false }]);
    expect(() => readConfig({ ...env, TENANT_DATABASES_URL: env.DATABASE_URL })).toThrow('write the word DATABASE_URL');
  });
});

test('a database from before there were separate servers stays on the server of DATABASE_URL', async () => {
  await using tested = await aTenantDatabases({ TENANT_DATABASES_URL: 'DATABASE_URL' });
  const tenantID = await aTenant(tested);
  await serverOf(tested, tenantID);
  await using later = await aTenantDatabases({ DATABASE_URL: tested.deployment.env.DATABASE_URL ?? '' });

  expect(await serverOf({ ...tested, databases: later.databases }, tenantID)).toEqual({
    name: 'DATABASE_URL',
    port: portOf(testServers.databaseURL),
  });
});

test('a tenant on a server that the settings no longer name is told so, without its address', async () => {
  await using tested = await aTenantDatabases();
  const tenantID = await aTenant(tested);
  await serverOf(tested, tenantID);
  await using other = await aTenantDatabases({
    DATABASE_URL: tested.deployment.env.DATABASE_URL ?? '',
    TENANT_DATABASES_URL: b,
  });

  const error = await serverOf({ ...tested, databases: other.databases }, tenantID).catch((thrown) => thrown);

  expect(error).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('TENANT_DATABASES_URL') });
  expect(error.message).not.toMatch(/127\.0|tenants/);
});

test('notifications of tenants do not enter the queue of the deployment', async () => {
  await using tested = await aTenantDatabases();
  const usage = async (on: Pick<typeof tenantServer, 'query'>) =>
    (await on.query('select pg_notification_queue_usage() as used')).rows[0]?.used;
  const before = await usage(tested.deployment.pool);

  // A listener in a transaction keeps the server from dropping what is sent.
  await tested.use((listener) =>
    tested.use(async (sender) => {
      await listener.query('listen x');
      await listener.query('begin');
      await sender.query(`select pg_notify('x', repeat('y', 7900) || n) from generate_series(1, 2000) n`);

      expect(await usage(tenantServer)).toBeGreaterThan(0.0005);
      expect(await usage(tested.deployment.pool)).toBeCloseTo(before, 4);
    }),
  );
});

test('every server is refused to tenants', () => {
  const config = readConfig({
    DATABASE_URL: 'postgres://u:p@main:5432/x',
    TENANT_DATABASES_URL: 'postgres://u:p@one:5433/x,two=postgres://u:p@two/x',
  });

  expect(deniedBy(config).servers).toEqual(
    expect.arrayContaining([
      { host: 'main', port: 5432 },
      { host: 'one', port: 5433 },
      { host: 'two', port: 5432 },
    ]),
  );
});
