/** Backups in a bucket of a real S3 server. */
import { join } from 'node:path';
import { AwsClient } from 'aws4fetch';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { restoreDeployment } from '#ops/backup/restore.ts';
import { type BackupStore, openBackupStore } from '#ops/backup/store.ts';
import { verifyBackup } from '#ops/backup/verify.ts';
import { newID } from '#shared/core/ids.ts';
import { readConfig } from '#shared/process/config.ts';
import { type EmbeddedS3, findS3, startS3 } from '#test/servers/s3.ts';
import { aFolder, anEmptyTarget, backUp, saveFile, silent } from '../../support/backups.ts';
import { type Deployment, startDeployment } from '../../support/deployment.ts';

const found = await findS3();
if (found.path === null) process.stderr.write(`The test of backups in S3 is skipped: ${found.reason}\n`);

const resources = new AsyncDisposableStack();
let s3: EmbeddedS3;
let owner: AwsClient;
let deployment: Deployment;
beforeAll(async () => {
  if (found.path === null) return;
  const { path } = resources.use(await aFolder());
  s3 = resources.use(await startS3({ dir: join(path, 's3') }));
  owner = new AwsClient({ ...s3, service: 's3', region: 'us-east-1', retries: 0 });
  deployment = resources.use(await startDeployment({ FILES_DIR: join(path, 'files') }));
  expect((await owner.fetch(`${endpoint()}/backups`, { method: 'PUT' })).status).toBe(200);
});
afterAll(() => resources.disposeAsync());

const endpoint = () => `http://127.0.0.1:${s3.port}`;

function storeAt(target: string, secretAccessKey = s3.secretAccessKey): BackupStore {
  const own = {
    ...{ BACKUP_ENDPOINT: endpoint(), BACKUP_REGION: 'us-east-1' },
    ...{ BACKUP_ACCESS_KEY_ID: s3.accessKeyId, BACKUP_SECRET_ACCESS_KEY: secretAccessKey },
  };
  return openBackupStore(target, readConfig({ ...deployment.env, ...own }).backups);
}

test.skipIf(found.path === null)(
  'a backup in a bucket outlives its server, is verified and restored, and a changed object is found',
  async () => {
    const { pool, config, tenantID } = deployment;
    const file = { id: newID(), tenantID, content: 'kept in a bucket '.repeat(1_000) };
    await saveFile(pool, config, file);
    // Another one for each try.
    const prefix = `nightly/${newID()}`;
    const store = storeAt(`s3://backups/${prefix}`);
    const dying: BackupStore = {
      ...store,
      async put(name, bytes) {
        if (name.startsWith('files/')) await s3.kill9();
        await store.put(name, bytes);
      },
    };

    await expect(backUp(deployment, dying)).rejects.toThrow();
    await s3.restart();
    await expect(verifyBackup(store)).rejects.toThrow(`${store.address} is a backup that has not ended`);
    const { files } = await backUp(deployment, store);

    expect(files).toMatchObject([{ name: 'files/000001' }]);
    expect((await verifyBackup(store)).backup.finishedAt).not.toBeNull();
    await using target = await anEmptyTarget(deployment, {
      FILES_DIR: join(config.files.folder ?? '', '..', 'restored'),
    });
    await restoreDeployment(target, { store, ...silent });
    const { rows } = await target.pool.query('select id, tenant_id from tenant_file');
    expect(rows).toContainEqual({ id: file.id, tenant_id: tenantID });

    const tenants = `${endpoint()}/backups/${prefix}/truth/tenant/000001.zst`;
    expect((await owner.fetch(tenants, { method: 'PUT', body: 'changed' })).status).toBe(200);
    await expect(verifyBackup(store)).rejects.toThrow('truth/tenant/000001.zst');
  },
);

test.skipIf(found.path === null)(
  'a wrong secret and a bucket that is not there are refused by what the server answers',
  async () => {
    await expect(backUp(deployment, storeAt('s3://backups/other', 'wrong'))).rejects.toThrow(/answered 403/);
    await expect(backUp(deployment, storeAt('s3://nowhere/other'))).rejects.toThrow(/answered 404/);
  },
);
