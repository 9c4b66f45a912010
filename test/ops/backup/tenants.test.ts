/** Databases and files of tenants in a backup, and one tenant beside others. Debian's PostgreSQL 15 brings pg_dump and pg_restore. */
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { restoreDeployment } from '#ops/backup/restore.ts';
import { restoreTenant, resumeTenant } from '#ops/backup/restore-tenant.ts';
import type { BackupStore } from '#ops/backup/store.ts';
import { newID } from '#shared/core/ids.ts';
import { createKeyRing } from '#shared/core/key-ring.ts';
import { createStoredFiles } from '#shared/datasources/files/files.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Config } from '#shared/process/config.ts';
import { findPostgres15, startPostgres15, writePrograms } from '#test/servers/postgres15.ts';
import { aFolder, anEmptyTarget, backUp, folderStore, saveFile, silent } from '../../support/backups.ts';
import { aCronJob } from '../../support/cron.ts';
import { onServer } from '../../support/database.ts';
import { noops } from '../../support/graphs.ts';
import { aTenantDatabases, type TestDatabases } from '../../support/tenant-databases.ts';

const never = new AbortController().signal;
const found = await findPostgres15();

let resources: AsyncDisposableStack;
let source: TestDatabases;
let folder: string;
let store: BackupStore;
let urls: Record<'a' | 'b', string>;
/** Tenants with a database, a file, a run that has ended, one that is open, and a cron job. */
let tenants: TenantContent[];
beforeAll(async () => {
  resources = new AsyncDisposableStack();
  if (found.path === null) return;
  folder = resources.use(await aFolder()).path;
  await chmod(folder, 0o755);
  const bin = found.path;
  const [a, b] = await Promise.all(['a', 'b'].map((name) => startPostgres15({ dir: join(folder, name), bin })));
  if (!a || !b) throw new Error('Two servers were started');
  resources.use(a);
  resources.use(b);
  urls = { a: a.url, b: b.url };
  source = resources.use(
    await aTenantDatabases({
      TENANT_DATABASES_URL: `a=${a.url}`,
      FILES_DIR: join(folder, 'files'),
      PG_BIN: await writePrograms(join(folder, 'programs'), bin),
    }),
  );
  tenants = [await aTenant('first'), await aTenant('second')];
  store = folderStore(join(folder, 'backup'));
  const backup = await backUp(source.deployment, store);
  expect(backup.failedDatabases).toEqual([]);
});
afterAll(() => resources.disposeAsync());
beforeEach(({ skip }) => {
  if (found.path === null) skip(`there is no PostgreSQL 15: ${found.reason}`);
});

interface TenantContent {
  id: string;
  databaseName: string;
  word: string;
  fileID: string;
  openRun: string;
  cronJobID: string;
}

async function aTenant(word: string): Promise<TenantContent> {
  const { deployment, databases } = source;
  const { pool, config } = deployment;
  const id = newID();
  await pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, $2, $1)`, [id, word]);
  const databaseName = `tenant_${newID().replaceAll('-', '').slice(-24)}`;
  const sealed = createKeyRing(config.secrets.keys).seal('known', `tenant_database:${id}:password`);
  await pool.query(
    `insert into tenant_database (id, tenant_id, server, database_name, role_name, password) values ($1, $1, 'a', $2, $2, $3)`,
    [id, databaseName, sealed],
  );
  await databases.withConnection(id, never, (client) =>
    client.query(`create table retained (word text); insert into retained values ('${word}'); create view v as select * from retained;
      alter database "${databaseName}" set search_path to public, pg_temp`),
  );
  const fileID = newID();
  await saveFile(pool, config, { id: fileID, tenantID: id, content: `file of ${word}` });
  const versionID = await deployment.saveVersion(noops(1));
  const openRun = newID();
  await pool.query(
    `insert into workflow_instance (id, tenant_id, version_id, status, caller, input, ready_at, deadline_at) values ($1, $2, $3, 'RUNNING', '{}', '{}', now(), 'infinity')`,
    [openRun, id, versionID],
  );
  const cronJobID = await aCronJob(deployment, { tenantID: id, workflowID: newID(), dueAgo: 120 });
  return { id, databaseName, word, fileID, openRun, cronJobID };
}

async function readFileOf(pool: Pool, config: Config, { id, fileID }: TenantContent): Promise<string | undefined> {
  const { rows } = await pool.query<{ store: 'folder' }>('select store from tenant_file where id = $1', [fileID]);
  const [row] = rows;
  const bytes =
    row && (await createStoredFiles(pool, config.files).read({ id: fileID, tenantID: id, store: row.store }));
  return bytes && (await text(Readable.from(bytes)));
}

/** While a lease lasts, workers do not end the connection that fills the database. */
async function readLeases(pool: Pool): Promise<unknown[]> {
  return (await pool.query('select moving_until > now() as "isHeld" from tenant_database')).rows;
}

async function wordIn(url: string, databaseName: string): Promise<unknown> {
  const address = new URL(url);
  address.pathname = `/${databaseName}`;
  return (
    await onServer('select word, current_setting($1) as path from v', { url: address.href, values: ['search_path'] })
  )[0];
}

test('databases and files of tenants are restored, on another server and in another kind of store', async () => {
  await using target = await anEmptyTarget(source.deployment, { TENANT_DATABASES_URL: `b=${urls.b}`, FILES_DIR: '' });

  await restoreDeployment(target, { store, ...silent });

  for (const tenant of tenants) {
    expect(await wordIn(urls.b, tenant.databaseName)).toEqual({ word: tenant.word, path: 'public, pg_temp' });
    expect(await readFileOf(target.pool, target.config, tenant)).toBe(`file of ${tenant.word}`);
  }
  const { rows } = await target.pool.query(
    'select distinct server from tenant_database union select store from tenant_file',
  );
  expect(rows.map(({ server }) => server).sort()).toEqual(['b', 'postgres']);
});

test('a server that has a database of the backup already is refused, and goes on where it was once the way is free', async () => {
  await using target = await anEmptyTarget(source.deployment);
  const [first] = tenants;

  await expect(restoreDeployment(target, { store, ...silent })).rejects.toThrow('another deployment may use');
  expect(await wordIn(urls.a, first?.databaseName ?? '')).toMatchObject({ word: 'first' });
  const { rows } = await target.pool.query('select phase from deployment_restore');
  expect(rows).toEqual([{ phase: 'loading' }]);

  await restoreDeployment(target, { store, isWithoutDatabases: true, ...silent });
  const { rows: after } = await target.pool.query('select phase from deployment_restore');
  expect(after).toEqual([{ phase: 'loaded' }]);
});

test('one tenant comes back beside others, switched off, and is switched on by its resumption', async () => {
  const { deployment } = source;
  const { pool, config } = deployment;
  const [lost, other] = tenants;
  if (!lost || !other) throw new Error('There are two tenants');
  const target = resources.use(
    await anEmptyTarget(deployment, { TENANT_DATABASES_URL: `c=${urls.b}`, FILES_DIR: join(folder, 'other') }),
  );
  await expect(restoreTenant({ ...target, pool, config }, { store, tenantID: lost.id, ...silent })).rejects.toThrow(
    'already: delete it first',
  );
  await target.pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, 'Another', $1)`, [newID()]);
  await onServer(`drop database if exists ${lost.databaseName}`, { url: urls.b });
  await onServer(`drop role if exists ${lost.databaseName}`, { url: urls.b });

  await target.pool.query(
    `insert into tenant_database_removal (id, deleted_tenant_id, server, database_name, role_name) values ($1, $1, 'c', $2, $2)`,
    [lost.id, lost.databaseName],
  );
  await expect(restoreTenant(target, { store, tenantID: lost.id, ...silent })).rejects.toThrow('still to be dropped');
  expect((await target.pool.query('select from tenant where id = $1', [lost.id])).rows).toEqual([]);
  await target.pool.query('delete from tenant_database_removal');
  const leases: unknown[] = [];
  const watched: BackupStore = {
    ...store,
    async get(object) {
      if (object.startsWith('databases/')) leases.push(...(await readLeases(target.pool)));
      return await store.get(object);
    },
  };
  await restoreTenant(target, { store: watched, tenantID: lost.id, ...silent });
  expect(leases).toContainEqual({ isHeld: true });
  expect(await readLeases(target.pool)).toEqual([{ isHeld: null }]);

  const { rows: all } = await target.pool.query('select tenant_title as title from tenant order by 1');
  expect(all).toEqual([{ title: 'Another' }, { title: lost.word }]);
  const { rows: runs } = await target.pool.query('select id, status, error, ready_at from workflow_instance');
  expect(runs).toMatchObject([{ id: lost.openRun, status: 'CANCELLED', error: { code: 'RESTORED' }, ready_at: null }]);
  expect(await wordIn(urls.b, lost.databaseName)).toMatchObject({ word: lost.word });
  expect(await readFileOf(target.pool, target.config, lost)).toBe(`file of ${lost.word}`);
  const { rows: triggers } = await target.pool.query(
    `select from pg_trigger where not tgisinternal and tgenabled <> 'O'`,
  );
  expect(triggers).toEqual([]);
  const readJobs = () =>
    target.pool.query('select id, paused_at is null as "isOn", next_at > now() as "isToCome" from cron_job');
  expect((await readJobs()).rows).toMatchObject([{ id: lost.cronJobID, isOn: false }]);

  expect(await resumeTenant(target.pool, lost.id)).toEqual({ cronJobs: [lost.cronJobID], listeners: [] });

  expect((await readJobs()).rows).toEqual([{ id: lost.cronJobID, isOn: true, isToCome: true }]);
  await expect(resumeTenant(target.pool, lost.id)).rejects.toThrow('nothing to resume');
});
