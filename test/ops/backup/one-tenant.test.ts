/** One tenant that is restored beside others, without a database of its own. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { restoreTenant } from '#ops/backup/restore-tenant.ts';
import type { BackupStore } from '#ops/backup/store.ts';
import { createIndexCache } from '#shared/access/policy/index-cache.ts';
import { newID } from '#shared/core/ids.ts';
import { aFolder, anEmptyTarget, backUp, folderStore, silent, type Target } from '../../support/backups.ts';
import { type Deployment, startDeployment } from '../../support/deployment.ts';
import { testLogger } from '../../support/environment.ts';

let resources: AsyncDisposableStack;
let deployment: Deployment;
let tenantID: string;
let store: BackupStore;
let folder: string;
beforeAll(async () => {
  resources = new AsyncDisposableStack();
  folder = resources.use(await aFolder()).path;
  deployment = resources.use(await startDeployment({ FILES_DIR: join(folder, 'files') }));
  ({ tenantID } = deployment);
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
