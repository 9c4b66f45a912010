/** Backups that are broken, and targets that are not fit for them: refused with nothing written. */
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createBackup } from '#ops/backup/create.ts';
import { openDeployment } from '#ops/backup/open-deployment.ts';
import { restoreDeployment } from '#ops/backup/restore.ts';
import type { BackupStore } from '#ops/backup/store.ts';
import { verifyBackup } from '#ops/backup/verify.ts';
import { newID } from '#shared/core/ids.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import { openKeyRing } from '#shared/process/open-key-ring.ts';
import { aFolder, anEmptyTarget, backUp, folderStore, silent, type Target } from '../../support/backups.ts';
import { type Deployment, startDeployment } from '../../support/deployment.ts';

let resources: AsyncDisposableStack;
let deployment: Deployment;
let folder: string;
let target: Target;
beforeAll(async () => {
  resources = new AsyncDisposableStack();
  deployment = resources.use(await startDeployment());
  const { pool, config, tenantID } = deployment;
  const secrets = await openKeyRing(config.secrets.keys, pool);
  const id = newID();
  const sealed = secrets.seal('secret', sealedColumns.variableSecret.context(id));
  await pool.query(
    `insert into tenant_variable (id, tenant_id, name, secret, creator_id) values ($1, $2, 'token', $3, $2)`,
    [id, tenantID, sealed],
  );
  folder = resources.use(await aFolder()).path;
  await backUp(deployment, folderStore(join(folder, 'whole')));
  target = resources.use(await anEmptyTarget(deployment));
});
afterAll(() => resources.disposeAsync());

/** A copy of the backup, for a test to break. */
async function aCopy(): Promise<string> {
  const path = join(folder, newID());
  await cp(join(folder, 'whole'), path, { recursive: true });
  return path;
}

async function expectNothingWritten(): Promise<void> {
  const { rows } = await target.pool.query(
    'select (select count(*)::int from tenant) as tenants, (select count(*)::int from deployment_restore) as restores',
  );
  expect(rows).toEqual([{ tenants: 0, restores: 0 }]);
}

const refuse = (path: string) => restoreDeployment(target, { store: folderStore(path), ...silent });

test('a changed byte is found by its part', async () => {
  const path = await aCopy();
  const part = join(path, 'truth/tenant/000001.zst');
  const bytes = await readFile(part);
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
  await writeFile(part, bytes);

  await expect(verifyBackup(folderStore(path))).rejects.toThrow('truth/tenant/000001.zst in');
  await expect(refuse(path)).rejects.toThrow('has changed since it was written');
  await expectNothingWritten();
});

test('a missing part is named', async () => {
  const path = await aCopy();
  await rm(join(path, 'truth/workflow/000001.zst'));

  await expect(refuse(path)).rejects.toThrow('truth/workflow/000001.zst is missing');
  await expectNothingWritten();
});

test('a changed manifest is damaged, and a folder without one is no backup', async () => {
  const path = await aCopy();
  const manifest = await readFile(join(path, 'manifest.json'), 'utf8');
  await writeFile(join(path, 'manifest.json'), manifest.replace('"version": "1.2.3"', '"version": "1.2.4"'));

  await expect(refuse(path)).rejects.toThrow('is damaged: it has changed');
  await expect(refuse(join(folder, 'nothing'))).rejects.toThrow('is no backup');
  await expectNothingWritten();
});

test('a backup of a newer schema names the migration that is not known', async () => {
  const store = folderStore(join(folder, newID()));
  await target.pool.query(`insert into schema_migration (name) values ('Migration20991231000000_Later')`);
  try {
    await backUp(target, store);
  } finally {
    await target.pool.query(`delete from schema_migration where name = 'Migration20991231000000_Later'`);
  }

  await expect(restoreDeployment(target, { store, ...silent })).rejects.toThrow('Migration20991231000000_Later');
  await expectNothingWritten();
});

test('other keys are refused by the fingerprint of the missing one, and accepted when asked for', async () => {
  const other = { SECRETS_KEYS: `test:${Buffer.alloc(32, 9).toString('base64')}` };
  await using elsewhere = await anEmptyTarget(deployment, other);
  const store = folderStore(join(folder, 'whole'));

  await expect(restoreDeployment(elsewhere, { store, ...silent })).rejects.toThrow(/test \(key-[\da-f]{16}\)/);
  const { rows } = await elsewhere.pool.query('select from tenant');
  expect(rows).toEqual([]);

  await restoreDeployment(elsewhere, { store, acceptsLostSecrets: true, ...silent });
  const { rows: restored } = await elsewhere.pool.query('select id from tenant');
  expect(restored).toEqual([{ id: deployment.tenantID }]);
});

test('a target with tenants is refused', async () => {
  await using opened = await openDeployment(deployment.env);

  await expect(restoreDeployment(opened, { store: folderStore(join(folder, 'whole')), ...silent })).rejects.toThrow(
    'it has 1 tenants',
  );
});

/** A store that fails at the first object with this name, as if the process ended there. */
function breakingAt(store: BackupStore, name: string, method: 'get' | 'put'): BackupStore {
  let isBroken = false;
  const check = (object: string) => {
    if (isBroken || !object.startsWith(name)) return;
    isBroken = true;
    throw new Error('broken off');
  };
  return {
    address: store.address,
    async put(object, bytes) {
      if (method === 'put') check(object);
      await store.put(object, bytes);
    },
    async get(object) {
      if (method === 'get') check(object);
      return await store.get(object);
    },
  };
}

test('a backup that was interrupted is no backup until the same command completes it, and keeps its moment', async () => {
  const store = folderStore(join(folder, newID()));
  await using opened = await openDeployment(deployment.env);
  const options = { version: '1.2.3', ...silent };
  await expect(
    createBackup(opened, { store: breakingAt(store, 'manifest.json', 'put'), ...options }),
  ).rejects.toThrow();
  await expect(verifyBackup(store)).rejects.toThrow('has not ended');
  const { snapshotAt } = JSON.parse((await store.get('progress.json'))?.toString() ?? '') as { snapshotAt: string };

  const backup = await createBackup(opened, { store, ...options });

  expect(backup.snapshotAt).toBe(snapshotAt);
  await verifyBackup(store);
  await expect(createBackup(opened, { store, ...options })).rejects.toThrow('has a complete backup already');
});

test('a load that was interrupted leaves the target empty', async () => {
  await using empty = await anEmptyTarget(deployment);
  let reads = 0;
  const store = folderStore(join(folder, 'whole'));
  const breaking: BackupStore = {
    ...store,
    async get(object) {
      // The first read is that of the check.
      if (object.startsWith('truth/workflow_version/')) reads += 1;
      if (reads === 2) throw new Error('broken off');
      return await store.get(object);
    },
  };

  await expect(restoreDeployment(empty, { store: breaking, ...silent })).rejects.toThrow('broken off');
  const { rows } = await empty.pool.query('select from tenant union all select from deployment_restore');
  expect(rows).toEqual([]);
  await restoreDeployment(empty, { store, ...silent });
  const { rows: restored } = await empty.pool.query('select id from tenant');
  expect(restored).toEqual([{ id: deployment.tenantID }]);
});
