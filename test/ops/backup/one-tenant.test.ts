/** One tenant that is restored beside others, without a database of its own. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { restoreTenant } from '#ops/backup/restore-tenant.ts';
import type { BackupStore } from '#ops/backup/store.ts';
import { createIndexCache } from '#shared/access/policy/index-cache.ts';
import { newID } from '#shared/core/ids.ts';
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
  await backUp(deployment, store);
});
afterAll(() => resources.disposeAsync());

const aTarget = () => anEmptyTarget(deployment, { FILES_DIR: join(folder, newID()) });

async function tenantIn({ pool }: Target): Promise<{ version: number; listeners: number; isShut: boolean } | undefined> {
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
