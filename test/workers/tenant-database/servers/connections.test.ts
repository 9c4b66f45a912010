import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FlowKey } from '#shared/concurrency/fair-queue.ts';
import { createSemaphore } from '#shared/concurrency/semaphore.ts';
import { Permit } from '#shared/concurrency/work-context.ts';
import { newID } from '#shared/core/ids.ts';
import type { PostgresConnection } from '#workers/connections/postgresql/connection.ts';
import { endOrphans } from '#workers/tenant-database/databases/orphans.ts';
import { executeSQL } from '#workers/tenant-database/rows/execute-sql.ts';
import { checkServers } from '#workers/tenant-database/servers/rights.ts';
import { tenantServer } from '../../../support/database.ts';
import { testLogger, testServers } from '../../../support/environment.ts';
import { eventually } from '../../../support/settle.ts';
import { aTenantDatabases, databasesOf, type TestDatabases } from '../../../support/tenant-databases.ts';

let database: TestDatabases;
let name: string;
beforeAll(async () => {
  database = await aTenantDatabases();
  const { rows } = await database.use((client) => client.query('select current_user as name'));
  name = rows[0].name;
});
afterAll(() => database[Symbol.asyncDispose]());

/** SQL that survives a cancel, time limits and the end of its client. */
function immortal(mark: string): string {
  return `set statement_timeout = 0; set client_connection_check_interval = 0;
    do $$ begin loop begin perform pg_sleep(10) /* ${mark} */; exception when query_canceled then null; end; end loop; end $$`;
}

async function working(mark: string): Promise<number> {
  const { rows } = await tenantServer.query(
    `select count(*)::int as n from pg_stat_activity where state = 'active' and pid <> pg_backend_pid() and query like $1`,
    [`%${mark}%`],
  );
  return rows[0]?.n;
}

/** Connections of the tenant with a transaction. */
async function inTransaction(): Promise<number> {
  const { rows } = await tenantServer.query(
    'select count(*)::int as n from pg_stat_activity where usename = $1 and xact_start is not null',
    [name],
  );
  return rows[0]?.n;
}

const sweep = (more = {}) =>
  endOrphans({ pool: database.deployment.pool, servers: database.databases.servers, logger: testLogger, ...more });

/** Signs in as the tenant could, if it knew the address. */
async function signIn(): Promise<pg.Client> {
  await database.use((client) => client.query(`alter role current_user password 'known'`));
  const url = Object.assign(new URL(testServers.tenantsURL), { username: name, password: 'known', pathname: name });
  const client = new pg.Client({ connectionString: url.href });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

describe('a statement that catches its cancel', () => {
  test('ends after the request has been given up', async () => {
    const mark = newID();
    const stop = new AbortController();
    const work = database.use((client) => client.query(immortal(mark)), stop.signal);
    work.catch(() => undefined);
    await eventually(async () => expect(await working(mark)).toBe(1));

    stop.abort(new Error('client disconnected'));

    await expect(work).rejects.toThrow('client disconnected');
    await eventually(async () => expect(await working(mark)).toBe(0));
  });

  test('ends after the time limit of raw SQL', async () => {
    const mark = newID();
    const raw = { params: [], readOnly: false, timeoutSeconds: 0.5, maxRows: 1 };

    const work = database.use((client) => executeSQL(client, { kind: 'executeSQL', sql: immortal(mark), ...raw }));

    await expect(work).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
    await eventually(async () => expect(await working(mark)).toBe(0));
  });

  test('ends although its worker has died, while those of live workers go on', async () => {
    await using other = databasesOf(database.deployment);
    const [lost, owned] = [newID(), newID()];
    const client = await signIn();
    client.query(immortal(lost)).catch(() => undefined);
    const stop = new AbortController();
    const work = other.withConnection(database.deployment.tenantID, stop.signal, (one) =>
      one.query(`select pg_sleep(300) /* ${owned} */`),
    );
    work.catch(() => undefined);
    await eventually(async () => expect([await working(lost), await working(owned)]).toEqual([1, 1]));
    await other.servers.connections.reportNow();
    await database.databases.servers.connections.reportNow();

    expect(await sweep(), 'no report was expected yet').toBe(0);
    expect(await sweep({ isSteady: true, graceSeconds: 3_600 }), 'it may be too new to be reported').toBe(0);
    const { pool } = database.deployment;
    await pool.query(`update tenant_database set moving_until = now() + interval '1 minute'`);
    expect(await sweep({ isSteady: true, graceSeconds: 0 }), 'a restore may own it').toBe(0);
    await pool.query('update tenant_database set moving_until = null');
    expect(await sweep({ isSteady: true, graceSeconds: 0 })).toBe(1);

    await eventually(async () => expect([await working(lost), await working(owned)]).toEqual([0, 1]));
    stop.abort();
  });

  test('is left alone while a worker of an older version reports nothing', async () => {
    const { pool } = database.deployment;
    const client = await signIn();
    await pool.query(
      `insert into worker_session (id, expires_at, slots, version) select gen_random_uuid(), now() + interval '1 hour', 1, 'x' from generate_series(1, 9)`,
    );

    expect(await sweep({ isSteady: true, graceSeconds: 0 })).toBe(0);

    await pool.query('delete from worker_session');
    expect(await sweep({ isSteady: true, graceSeconds: 0 })).toBe(1);
    await client.end();
  });
});

test('a statement and a transaction end when they are too old, though a live worker owns them', async () => {
  const mark = newID();
  const ends = [
    database.use((client) => client.query(`select pg_sleep(300) /* ${mark} */`)),
    database.use(async (client) => {
      await client.query('begin');
      await new Promise((resolve) => client.driver.once('end', resolve));
      throw new Error('the connection has ended');
    }),
  ].map((work) => work.catch((error: Error) => error));
  await eventually(async () => expect(await working(mark)).toBe(1));
  await eventually(async () => expect(await inTransaction()).toBe(2));
  await database.databases.servers.connections.reportNow();

  expect(await sweep()).toBe(0);
  expect(await sweep({ maxStatementSeconds: 0 })).toBe(2);

  expect(await Promise.all(ends)).toEqual([expect.any(Error), expect.any(Error)]);
});

test('a role has its limits, and cannot lift those that are limits', async () => {
  const { rows } = await database.use((client) =>
    client.query(`select current_setting('temp_file_limit') as temp, current_setting('work_mem') as work`),
  );
  expect(rows).toEqual([{ temp: '1GB', work: '8MB' }]);
  const { rows: limits } = await tenantServer.query(
    'select rolconnlimit as role, datconnlimit as database from pg_roles, pg_database where rolname = $1 and datname = $1',
    [name],
  );
  expect(limits).toEqual([{ role: 40, database: 40 }]);
  for (const sql of [
    `set temp_file_limit = '-1'`,
    `alter role current_user set temp_file_limit = '-1'`,
    `alter role current_user connection limit -1`,
    `alter role "${name}" reset temp_file_limit`,
  ])
    await expect(database.use((client) => client.query(sql))).rejects.toMatchObject({
      details: { postgres_code: '42501' },
    });
  // Sorting on disk.
  await expect(
    database.use((client) =>
      client.query(
        `select count(*) from (select repeat(md5(n::text), 60) as t from generate_series(1, 700000) n order by t) s`,
      ),
    ),
  ).rejects.toMatchObject({ details: { postgres_code: '53400' } });
});

describe('what a server lacks', () => {
  const missing = async ({ deployment: { pool }, databases: { servers } }: TestDatabases) => {
    await checkServers({ pool, servers, logger: testLogger });
    const { rows } = await pool.query('select missing from tenant_server');
    return rows[0].missing;
  };

  test('is nothing once ops/tenant-server.sql has run', async () => {
    expect(await missing(database)).toEqual([]);
  });

  test('is named', async () => {
    await using bare = await aTenantDatabases({ TENANT_DATABASES_URL: `bare=${testServers.datasourceURL}` });
    await using away = await aTenantDatabases({ TENANT_DATABASES_URL: 'away=postgres://u:p@127.0.0.1:1/x' });

    expect(await missing(bare)).toEqual([
      'SET on temp_file_limit',
      'pg_signal_backend',
      'pg_read_all_stats',
      'reserved_connections',
      'pg_use_reserved_connections',
      'pg_signal_autovacuum_worker',
      'REVOKE CONNECT on postgres and template1',
      'template1',
    ]);
    expect(await missing(away)).toEqual(['an answer']);
    // And yet it works.
    expect((await bare.use((client) => client.query('select 1 as one'))).rows).toEqual([{ one: 1 }]);
  });
});

describe('connections to one server', () => {
  const never = new AbortController().signal;

  async function tenantsOf(
    { deployment: { pool } }: TestDatabases,
    count: number,
    creatorID: string | null = null,
  ): Promise<string[]> {
    const { rows } = await pool.query(
      `insert into tenant (id, tenant_title, creator_id) select gen_random_uuid(), 'A tenant', coalesce($2, gen_random_uuid()) from generate_series(1, $1) returning id`,
      [count, creatorID],
    );
    return rows.map(({ id }) => id);
  }

  async function connected({ deployment: { pool } }: TestDatabases): Promise<number> {
    const { rows: roles } = await pool.query('select role_name from tenant_database');
    const { rows } = await tenantServer.query(
      'select count(*)::int as n from pg_stat_activity where usename = any($1)',
      [roles.map(({ role_name }) => role_name)],
    );
    return rows[0]?.n;
  }

  test('are limited over all tenants, in fair order; idle ones are closed for those that wait', async () => {
    await using few = await aTenantDatabases({ TENANT_DATABASES_CONNECTIONS: '2' });
    const tenants = await tenantsOf(few, 6);
    const order: string[] = [];
    let most = 0;
    const work = (tenantID: string) =>
      few.databases.withConnection(tenantID, never, async (client) => {
        await client.query('select pg_sleep(0.01)');
        most = Math.max(most, await connected(few));
        order.push(tenantID);
      });
    for (const tenantID of tenants) await work(tenantID);
    order.length = 0;
    const [flooding = '', ...others] = tenants;

    const flood = Array.from({ length: 40 }, () => work(flooding));
    await Promise.all([...flood, ...others.map((tenantID) => work(tenantID))]);

    expect(most).toBe(2);
    // Each of the five others was served long before the flood ended.
    expect(Math.max(...others.map((tenantID) => order.indexOf(tenantID)))).toBeLessThan(25);
  });

  test('are shared between creators: one with many tenants leaves a connection to the next, who keeps it', async () => {
    await using few = await aTenantDatabases({ TENANT_DATABASES_CONNECTIONS: '4' });
    const { permits } = few.databases.servers.get('tenants');
    const creatorID = newID();
    const tenants = await tenantsOf(few, 8, creatorID);
    const [own = ''] = await tenantsOf(few, 1);
    const pidOf = (client: PostgresConnection) => client.query('select pg_backend_pid() as pid');
    /** Runs the work as a worker does, in the flow of the tenant's creator. */
    const withConnection = <T>(flow: FlowKey, work: (client: PostgresConnection) => Promise<T>) =>
      new Permit(createSemaphore({ permits: 1 }), flow).run(() =>
        few.databases.withConnection(flow.tenantID, never, work),
      );
    // The first use creates the databases.
    for (const tenantID of tenants) await withConnection({ tenantID, creatorID }, pidOf);
    await withConnection({ tenantID: own }, pidOf);
    const held = Promise.withResolvers<void>();
    const slow = tenants.map((tenantID) => withConnection({ tenantID, creatorID }, () => held.promise));
    await eventually(() => expect(permits.waiting).toBe(6));

    const { rows: first } = await withConnection({ tenantID: own }, pidOf);
    expect((await withConnection({ tenantID: own }, pidOf)).rows).toEqual(first);

    expect([permits.used, permits.waiting]).toEqual([3, 6]);
    held.resolve();
    await Promise.all(slow);
  });

  test('are closed while they are idle for work of a creator who has used up its share', async () => {
    await using few = await aTenantDatabases({ TENANT_DATABASES_CONNECTIONS: '8' });
    const withConnection = async (flow: FlowKey) =>
      await new Permit(createSemaphore({ permits: 1 }), flow).run(() =>
        few.databases.withConnection(flow.tenantID, AbortSignal.timeout(10_000), (client) => client.query('select 1')),
      );
    const flows: FlowKey[] = [];
    for (const creatorID of [newID(), newID()])
      for (const tenantID of await tenantsOf(few, 5, creatorID)) flows.push({ tenantID, creatorID });

    // Each waits at most for connections to be closed, and not until they have been idle for long.
    for (const flow of [...flows, ...flows.toReversed()]) await withConnection(flow);

    expect(few.databases.servers.get('tenants').permits.waiting).toBe(0);
  });

  test('serve waiting work of their own tenant when they are checked in and no other work would get their permit', async () => {
    await using few = await aTenantDatabases({ TENANT_DATABASES_CONNECTIONS: '4' });
    const creatorID = newID();
    const own = (await tenantsOf(few, 2, creatorID)).map((tenantID) => ({ tenantID, creatorID }));
    const others = (await tenantsOf(few, 2)).map((tenantID) => ({ tenantID }));
    const [first = { tenantID: '' }] = own;
    const held = Promise.withResolvers<void>();
    const freed = Promise.withResolvers<void>();
    let begun = 0;
    const withConnection = (flow: FlowKey, until: Promise<void>) =>
      new Permit(createSemaphore({ permits: 1 }), flow).run(() =>
        few.databases.withConnection(flow.tenantID, never, async (client) => {
          begun += 1;
          await until;
          return (await client.query('select pg_backend_pid() as pid')).rows[0]?.pid;
        }),
      );
    const works = [withConnection(first, freed.promise)];
    for (const flow of [...own.slice(1), ...others]) {
      works.push(withConnection(flow, held.promise));
      await eventually(() => expect(begun).toBe(works.length));
    }
    const waiting = withConnection(first, Promise.resolve());
    await eventually(() => expect(few.databases.servers.get('tenants').permits.waiting).toBe(1));

    freed.resolve();

    expect(await waiting).toBe(await works[0]);
    held.resolve();
    await Promise.all(works);
    expect(few.databases.servers.get('tenants').permits.waiting).toBe(0);
  });

  test('are waited for when the role has none left', async () => {
    const [tenantID = ''] = await tenantsOf(database, 1);
    const [first, second] = [databasesOf(database.deployment), databasesOf(database.deployment)];
    const { rows } = await first.withConnection(tenantID, never, (client) =>
      client.query('select current_user as name'),
    );
    await tenantServer.query(`alter role "${rows[0].name}" connection limit 1`);
    const held = Promise.withResolvers<void>();
    const holding = first.withConnection(tenantID, never, () => held.promise);

    const waiting = second.withConnection(tenantID, never, (client) => client.query('select 1 as one'));
    const early = await Promise.race([waiting, sleep(500, 'it waits')]);
    held.resolve();
    await holding;
    await first[Symbol.asyncDispose]();

    expect(early).toBe('it waits');
    expect((await waiting).rows).toEqual([{ one: 1 }]);
    await second[Symbol.asyncDispose]();
  });
});
