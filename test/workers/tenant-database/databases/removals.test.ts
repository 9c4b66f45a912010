import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { withTenantDatabaseLock } from '#shared/tenants/database-lock.ts';
import { deleteTenant, resumeDeletions } from '#shared/tenants/delete-tenant.ts';
import { tenantServer } from '../../../support/database.ts';
import { eventually } from '../../../support/settle.ts';
import { aTenantDatabases, removeDatabases, type TestDatabases } from '../../../support/tenant-databases.ts';

let database: TestDatabases;
beforeAll(async () => {
  database = await aTenantDatabases();
});
afterAll(() => database[Symbol.asyncDispose]());

interface Tenant {
  id: string;
  /** Name of the role and the database. */
  name: string;
}

const never = new AbortController().signal;

function run(tenantID: string, sql: string) {
  return database.databases.withConnection(tenantID, never, (client) => client.query(sql));
}

async function aTenant(): Promise<Tenant> {
  const id = newID();
  await database.deployment.pool.query(
    `insert into tenant (id, tenant_title, creator_id) values ($1, 'A tenant', $1)`,
    [id],
  );
  const { rows } = await run(id, 'select current_user as name');
  return { id, name: rows[0].name };
}

async function remove({ id }: Tenant): Promise<void> {
  await deleteTenant(database.deployment.pool, database.deployment.runs, id);
}

async function left({ name }: Tenant): Promise<string[]> {
  const { rows } = await tenantServer.query(
    `select 'database' as what from pg_database where datname = $1 union all select 'role' from pg_roles where rolname = $1`,
    [name],
  );
  return rows.map(({ what }) => what);
}

async function listed() {
  const { rows } = await database.deployment.pool.query(
    'select database_name as name, attempts, error from tenant_database_removal order by requested_at',
  );
  return rows;
}

const tryAllNow = () => database.deployment.pool.query('update tenant_database_removal set next_try_at = now()');

test("rights that other tenants grant to a tenant's role do not keep it from being deleted", async () => {
  const [hostile, dropped] = [await aTenant(), await aTenant()];
  await run(
    hostile.id,
    `create table t (id int); grant all on t to "${dropped.name}"; grant all on schema public to "${dropped.name}";
     alter default privileges grant select on tables to "${dropped.name}"; grant connect on database "${hostile.name}" to "${dropped.name}";
     alter database "${hostile.name}" set local_preload_libraries to 'missing';
     revoke connect on database "${hostile.name}" from "${hostile.name}"; alter database "${hostile.name}" connection limit 0`,
  );
  await run(dropped.id, `alter database "${dropped.name}" with is_template true`);

  await remove(dropped);
  await removeDatabases(database);

  expect(await left(dropped)).toEqual([]);
  expect(await left(hostile)).toEqual(['database', 'role']);
  expect(await listed()).toEqual([]);
});

test('rights on a table that its owner keeps locked delay the role for seconds, and nothing else', async () => {
  const [hostile, dropped] = [await aTenant(), await aTenant()];
  await run(hostile.id, `create table t (id int); grant all on t to "${dropped.name}"`);
  await database.databases.withConnection(hostile.id, never, async (client) => {
    await client.query('begin; revoke select on t from public; grant select on t to public');
    await remove(dropped);
    const began = performance.now();
    await removeDatabases(database);
    // Other entries would have waited for as long.
    expect(performance.now() - began).toBeLessThan(30_000);
    await client.query('rollback');
  });

  expect(await left(dropped)).toEqual(['role']);
  const { rows } = await tenantServer.query('select rolcanlogin from pg_roles where rolname = $1', [dropped.name]);
  expect(rows, 'it may not sign in any more').toEqual([{ rolcanlogin: false }]);
  expect(await listed()).toEqual([{ name: dropped.name, attempts: 1, error: expect.stringContaining('lock timeout') }]);
  await tryAllNow();
  await removeDatabases(database);
  expect(await left(dropped)).toEqual([]);
});

test('an entry is due from the moment that it is listed', async () => {
  const { pool } = database.deployment;
  const attempts: unknown[] = [];
  for (let n = 0; n < 30; n += 1) {
    await pool.query(
      `insert into tenant_database_removal (id, deleted_tenant_id, server, database_name, role_name) values ($1, $1, 'unknown', 'x', 'x')`,
      [newID()],
    );
    await removeDatabases(database);
    attempts.push(...(await pool.query('delete from tenant_database_removal returning attempts')).rows);
  }

  expect(attempts).toEqual(Array(30).fill({ attempts: 1 }));
});

test('one that cannot be dropped stays on the list and delays no other', async () => {
  const [held, free] = [await aTenant(), await aTenant()];
  await database.deployment.pool.query(`update tenant_database set server = 'elsewhere' where tenant_id = $1`, [
    held.id,
  ]);

  await remove(held);
  await remove(free);
  await removeDatabases(database);

  expect(await left(free)).toEqual([]);
  expect(await listed()).toEqual([{ name: held.name, attempts: 1, error: expect.stringContaining('elsewhere') }]);
  await database.deployment.pool.query(`update tenant_database_removal set server = 'tenants'`);
  await tryAllNow();
  await removeDatabases(database);
  expect(await left(held)).toEqual([]);
});

test('rows are deleted although the server is away', async () => {
  await using away = await aTenantDatabases({ TENANT_DATABASES_URL: 'away=postgres://u:p@127.0.0.1:1/x' });
  const { pool, runs, tenantID } = away.deployment;
  await pool.query(
    `insert into tenant_database (id, tenant_id, server, database_name, role_name, password) values ($1, $1, 'away', 'd', 'd', 'sealed')`,
    [tenantID],
  );

  await deleteTenant(pool, runs, tenantID);
  expect(await removeDatabases(away)).toBe(0);

  const { rows } = await pool.query(
    'select (select count(*)::int from tenant) as tenants, * from tenant_database_removal',
  );
  expect(rows).toMatchObject([{ tenants: 0, database_name: 'd', attempts: 1, error: expect.any(String) }]);
  expect(JSON.stringify(rows)).not.toContain('sealed');
});

test('a database that is being created waits for the end of the creation', async () => {
  const tenant = await aTenant();
  const { pool } = database.deployment;

  await withTenantDatabaseLock(pool, tenant.id, async () => {
    await remove(tenant);
    expect(await removeDatabases(database)).toBe(0);
    expect(await left(tenant)).toEqual(['database', 'role']);
  });

  await eventually(async () => {
    await tryAllNow();
    await removeDatabases(database);
    expect(await left(tenant)).toEqual([]);
  });
});

test('a tenant whose rows cannot be deleted delays no other', async () => {
  const { pool, runs } = database.deployment;
  const [stuck, next] = [await aTenant(), await aTenant()];
  await pool.query(`create function refuse() returns trigger language plpgsql as $$ begin raise 'stuck'; end $$`);
  await pool.query(
    `create trigger refuse before delete on tenant for each row when (old.id = '${stuck.id}') execute function refuse()`,
  );
  await pool.query(
    `update tenant set deleting_at = now() - case id when $1 then interval '2 minutes' else interval '1 minute' end where id in ($1, $2)`,
    [stuck.id, next.id],
  );
  const failed: string[] = [];

  expect(await resumeDeletions(pool, runs, (_error, tenantID) => void failed.push(tenantID))).toBe(1);

  expect(failed).toEqual([stuck.id]);
  const { rows } = await pool.query('select id from tenant where id in ($1, $2)', [stuck.id, next.id]);
  expect(rows).toEqual([{ id: stuck.id }]);
  await pool.query('drop trigger refuse on tenant');
});
