/** One tenant that is restored beside others, without a database of its own. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { restoreDeployment } from '#ops/backup/restore.ts';
import { restoreTenant } from '#ops/backup/restore-tenant.ts';
import type { BackupStore } from '#ops/backup/store.ts';
import { createIndexCache } from '#shared/access/policy/index-cache.ts';
import { newID } from '#shared/core/ids.ts';
import { deleteTenant } from '#shared/tenants/delete-tenant.ts';
import {
  aFolder,
  anEmptyTarget,
  backUp,
  breakingAtRead,
  folderStore,
  saveFile,
  silent,
  type Target,
} from '../../support/backups.ts';
import { type Deployment, startDeployment } from '../../support/deployment.ts';
import { testLogger } from '../../support/environment.ts';

let resources: AsyncDisposableStack;
let deployment: Deployment;
let tenantID: string;
/** A tenant whose database is not in the backup. */
const withDatabase = newID();
let fileID: string;
let store: BackupStore;
let folder: string;
beforeAll(async () => {
  resources = new AsyncDisposableStack();
  folder = resources.use(await aFolder()).path;
  deployment = resources.use(await startDeployment({ FILES_DIR: join(folder, 'files') }));
  ({ tenantID } = deployment);
  fileID = newID();
  await saveFile(deployment.pool, deployment.config, { id: fileID, tenantID, content: 'file' });
  store = folderStore(join(folder, 'backup'));
  await deployment.pool.query(
    `with t as (insert into tenant (id, tenant_title, creator_id) values ($1, 'Other', $1) returning id)
     insert into tenant_database (id, tenant_id, server, database_name, role_name, password, ready_at)
     select id, id, 'tenants', 'tenant_lost', 'tenant_lost', '', now() from t`,
    [withDatabase],
  );
  await deployment.pool.query(
    `insert into audit_record (seq, id, tenant_id, kind, type, action, details, created_at) overriding system value
     values (7000, $1, $2, 'entry', 'Request', 'read', '{}', now())`,
    [newID(), tenantID],
  );
  await backUp(deployment, store, { isWithoutDatabases: true });
  // Its database was never created: none is to be dropped.
  await deployment.pool.query('delete from tenant_database where tenant_id = $1', [withDatabase]);
  await deployment.pool.query('delete from tenant_database_removal');
});
afterAll(() => resources.disposeAsync());

const aTarget = () => anEmptyTarget(deployment, { FILES_DIR: join(folder, newID()) });

async function tenantIn({
  pool,
}: Target): Promise<{ version: number; listeners: number; isShut: boolean } | undefined> {
  const { rows } = await pool.query<{ version: number; listeners: number; isShut: boolean }>(
    'select policy_version as version, listeners_version as listeners, deleting_at is not null as "isShut" from tenant where id = $1',
    [tenantID],
  );
  return rows[0];
}

test('processes that knew the deleted tenant read the rules and listeners of the restored one', async () => {
  await using target = await aTarget();
  const cache = createIndexCache(target.pool, testLogger);
  await target.pool.query(
    `insert into tenant (id, tenant_title, creator_id, policy_version, listeners_version) values ($1, 'Before', $1, 9, 9)`,
    [tenantID],
  );
  expect((await cache.current(tenantID, 9)).version).toBe(9);
  await target.pool.query('delete from tenant where id = $1', [tenantID]);

  await restoreTenant(target, { store, tenantID, ...silent });

  const { version, listeners } = (await tenantIn(target)) ?? { version: 0, listeners: 0 };
  expect((await cache.current(tenantID, version)).version).toBe(version);
  expect(listeners).toBeGreaterThan(9);
});

test('new records of the audit trail come after those that were restored', async () => {
  await using target = await aTarget();

  await restoreTenant(target, { store, tenantID, ...silent });

  const { rows } = await target.pool.query<{ seq: number }>(`select nextval('audit_record_seq_seq') as seq`);
  expect(rows).toEqual([{ seq: 7001 }]);
});

test('a tenant is shut until all of it is there, and a file that was uploaded since the backup stays', async () => {
  await using target = await aTarget();
  const { pool, config } = target;
  // Its first read is that of the check.
  await expect(
    restoreTenant(target, { store: breakingAtRead(store, 'files/', 2), tenantID, ...silent }),
  ).rejects.toThrow('broken off');
  expect(await tenantIn(target)).toMatchObject({ isShut: true });
  const uploaded = newID();
  await saveFile(pool, config, { id: uploaded, tenantID, content: 'later' });

  await restoreTenant(target, { store, tenantID, ...silent });

  expect(await tenantIn(target)).toMatchObject({ isShut: false });
  const { rows } = await pool.query<{ id: string }>('select id from tenant_file order by id');
  expect(rows.map(({ id }) => id)).toEqual([fileID, uploaded]);
});

test('a tenant that is deleted before or after the end of its restore is restored anew', async () => {
  await using target = await aTarget();
  const { pool } = target;
  const readMarks = async () =>
    (await pool.query('select phase, resumed_at is null as "isOpen" from deployment_restore order by began_at')).rows;
  await expect(
    restoreTenant(target, { store: breakingAtRead(store, 'files/', 2), tenantID, ...silent }),
  ).rejects.toThrow('broken off');
  await deleteTenant(pool, deployment.runs, tenantID);

  await restoreTenant(target, { store, tenantID, ...silent });

  expect(await tenantIn(target)).toMatchObject({ isShut: false });
  expect(await readMarks()).toEqual([
    { phase: 'loading', isOpen: false },
    { phase: 'loaded', isOpen: true },
  ]);
  await deleteTenant(pool, deployment.runs, tenantID);
  await restoreTenant(target, { store, tenantID, ...silent });
  expect(await tenantIn(target)).toMatchObject({ isShut: false });
});

test('databases that are not in the backup are named, and a tenant without its own is refused before anything is written', async () => {
  await using target = await aTarget();
  const lines: string[] = [];
  await expect(restoreTenant(target, { store, tenantID: withDatabase, ...silent })).rejects.toThrow(
    'has no database of the tenant',
  );
  const { rows } = await target.pool.query('select id from tenant union all select id from deployment_restore');
  expect(rows).toEqual([]);

  await restoreDeployment(target, { store, say: (line) => lines.push(line) });

  expect(lines).toContainEqual(expect.stringContaining(`The database of the tenant ${withDatabase} is not in`));
});

test('one restore runs at a time', async () => {
  await using target = await aTarget();
  const reads = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const waiting: BackupStore = {
    ...store,
    async get(object) {
      reads.resolve();
      await goOn.promise;
      return await store.get(object);
    },
  };
  const first = restoreDeployment(target, { store: waiting, ...silent });
  await reads.promise;

  await expect(restoreTenant(target, { store, tenantID, ...silent })).rejects.toThrow('Another restore');

  goOn.resolve();
  await first;
});
