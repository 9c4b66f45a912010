/** The second Postgres of `npm start`: who starts it, and when. */
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Home, openHome } from '#ops/embedded/home.ts';
import { prepareTenantPostgres, startWhenWanted, type TenantPostgres } from '#ops/embedded/tenant-postgres.ts';
import { readEmbeddedConfig } from '#shared/process/config.ts';
import { onServer } from '#test/support/database.ts';
import { testLogger } from '#test/support/environment.ts';
import { aTenantDatabases, type TestDatabases } from '#test/support/tenant-databases.ts';

let home: Home;
beforeAll(async () => {
  home = await openHome(await mkdtemp(join(tmpdir(), `gantry-test-${process.pid}-`)));
  await mkdir(join(home.dir, 'logs'));
});
afterAll(async () => {
  await home[Symbol.asyncDispose]();
  await rm(home.dir, { recursive: true, force: true });
});

/** The part of `npm start` and its worker that serves tenants' databases. */
async function aStart(DATABASE_URL?: string) {
  await using resources = new AsyncDisposableStack();
  const prepared = await prepareTenantPostgres(home, readEmbeddedConfig({}));
  if (!prepared) throw new Error('It is switched off');
  const tenants: TenantPostgres = resources.use(prepared);
  const tested: TestDatabases = resources.use(
    await aTenantDatabases({
      TENANT_DATABASES_URL: `embedded=${tenants.url}`,
      TENANT_DATABASES_ON_DEMAND: 'true',
      ...(DATABASE_URL && { DATABASE_URL }),
    }),
  );
  resources.use(await startWhenWanted(tenants, { ...tested.deployment, logger: testLogger, say: expect.unreachable }));
  const owned = resources.move();
  return { tenants, tested, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

test('it is made and started when a tenant first needs a database, and not before', async () => {
  await using first = await aStart();
  expect(await readdir(home.dir)).not.toContain('tenants');

  const { rows } = await first.tested.use((client) => client.query('select 1 as one'));

  expect(rows).toEqual([{ one: 1 }]);
  const settings = ['shared_buffers', 'max_connections', 'reserved_connections', 'log_min_messages'];
  const found = await onServer(
    `select name, current_setting(name) as value from unnest('{${settings}}'::text[]) name`,
    {
      url: first.tenants.url,
    },
  );
  expect(Object.fromEntries(found.map(({ name, value }) => [name, value]))).toEqual({
    shared_buffers: '16MB',
    max_connections: '100',
    reserved_connections: '5',
    log_min_messages: 'fatal',
  });

  await first.tenants[Symbol.asyncDispose]();
  await using second = await aStart(first.tested.deployment.env.DATABASE_URL);

  // A row names it, so nothing has to ask for it.
  expect(second.tenants.url).toBe(first.tenants.url);
  await expect
    .poll(() => onServer('select 1 as one', { url: second.tenants.url }).catch(() => []), { timeout: 20_000 })
    .toEqual([{ one: 1 }]);
});

test('there is none when the settings name servers, or switch databases of tenants off', async () => {
  const off = await prepareTenantPostgres(home, readEmbeddedConfig({ TENANT_DATABASES: 'false' }));
  const given = await prepareTenantPostgres(home, readEmbeddedConfig({ TENANT_DATABASES_URL: 'DATABASE_URL' }));

  expect([off, given]).toEqual([undefined, undefined]);
});
