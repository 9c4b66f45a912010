import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AwsClient } from 'aws4fetch';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { createStoredFiles, type FilesConfig, type StoredFiles } from '#shared/datasources/files/files.ts';
import { onClient } from '#shared/db/query.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { aTenant, type TestTenant } from '#test/support/factories.ts';
import { createFileStore } from '#workers/datasources/files/store.ts';
import { type EmbeddedS3, findS3, startS3 } from '../../../servers/s3.ts';

const found = await findS3();
if (found.path === null) process.stderr.write(`The tests of files in S3 are skipped: ${found.reason}\n`);

let dir: string;
let s3: EmbeddedS3 | undefined;
let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
  dir = await mkdtemp(join(tmpdir(), 'gantry-stores-'));
  if (found.path === null) return;
  s3 = await startS3({ dir: join(dir, 's3') });
  const owner = new AwsClient({ ...s3, service: 's3', region: 'us-east-1' });
  expect((await owner.fetch(`http://127.0.0.1:${s3.port}/files`, { method: 'PUT' })).status).toBe(200);
});
afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
  await s3?.[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

function configOf(kind: string): FilesConfig {
  const location = {
    endpoint: `http://127.0.0.1:${s3?.port}`,
    region: 'us-east-1',
    bucket: 'files',
    accessKeyId: s3?.accessKeyId ?? '',
    secretAccessKey: s3?.secretAccessKey ?? '',
  };
  return {
    folder: kind === 'folder' ? join(dir, 'folder') : undefined,
    s3: kind === 's3' ? location : undefined,
  };
}

const kinds = ['postgres', 'folder', ...(found.path === null ? [] : ['s3'])];

describe.each(kinds)('files in %s', (kind) => {
  let tenant: TestTenant;
  let files: StoredFiles;
  beforeAll(async () => {
    tenant = await aTenant(cluster);
    files = createStoredFiles(cluster.pool, configOf(kind));
  });

  const table = Buffer.from(`a,b\n${'1,2\n'.repeat(400_000)}`);
  const digest = createHash('sha256').update(table).digest('hex');
  const isOutside = kind !== 'postgres';

  async function upload(): Promise<string> {
    const id = newID();
    await files.save({ id, tenantID: tenant.id }, table, async (store, settle) => {
      const client = await cluster.pool.connect();
      await client.query('begin');
      await client.query(INSERT, [id, tenant.id, table.length, digest, store]);
      await settle(onClient(client));
      await client.query('commit');
      client.release();
    });
    return id;
  }

  async function textOf(fileID: string): Promise<string | undefined> {
    const { rows } = await cluster.pool.query<{ store: 's3' }>('select store from tenant_file where id = $1', [fileID]);
    const bytes = await files.read({ id: fileID, tenantID: tenant.id, store: rows[0]?.store ?? (kind as 's3') });
    return bytes && Buffer.concat(await Array.fromAsync(bytes)).toString();
  }

  test('are read by API and workers, and gone with their row', async () => {
    const fileID = await upload();
    const { rows } = await cluster.pool.query('select store from tenant_file where id = $1', [fileID]);
    await using worker = await createFileStore({ pool: cluster.pool, files });
    using pinned = await worker.pin(tenant.id, fileID);

    expect(rows).toEqual([{ store: kind }]);
    expect(await readFile(pinned.path)).toEqual(table);
    expect(await textOf(fileID)).toBe(table.toString());
    for (const [start, end] of [
      [0, 0],
      [5, 1_048_580],
      [1_048_576, 1_048_576],
      [1_500_000, table.length - 1],
    ] as const) {
      const part = await files.read({ id: fileID, tenantID: tenant.id, store: kind as 's3' }, { start, end });
      expect(Buffer.concat(await Array.fromAsync(part ?? [])).equals(table.subarray(start, end + 1))).toBe(true);
    }

    await cluster.pool.query('delete from tenant_file where id = $1', [fileID]);
    expect(await files.collectGarbage()).toBe(isOutside ? 1 : 0);
    expect(await cluster.pool.query('select from file_garbage')).toMatchObject({ rows: [] });
    expect((await textOf(fileID)) || undefined).toBeUndefined();
    if (kind === 'folder') expect(await readdir(join(dir, 'folder', tenant.id))).toEqual([]);
  });

  test('of an upload whose process died are collected later, and not while it goes on', async () => {
    const file = { id: newID(), tenantID: tenant.id };
    const died = files.save(file, Buffer.from('abc'), () => Promise.reject(new Error('killed')));

    await expect(died).rejects.toThrow('killed');
    expect(await files.collectGarbage()).toBe(0);
    if (isOutside) expect(await textOf(file.id)).toBe('abc');
    await cluster.pool.query("update file_garbage set due_at = now() - interval '1 s'");
    expect(await files.collectGarbage()).toBe(isOutside ? 1 : 0);
    expect((await textOf(file.id)) || undefined).toBeUndefined();
  });

  const outside = isOutside ? [kind] : [];
  test.each(outside)('that were collected from %s are not stored by a late upload', async () => {
    const file = { id: newID(), tenantID: tenant.id };
    const late = files.save(file, Buffer.from('abc'), async (_store, settle) => {
      await cluster.pool.query("update file_garbage set due_at = now() - interval '1 s'");
      await files.collectGarbage();
      await settle(async (sql, params) => cluster.pool.query(sql, [...params]));
    });

    await expect(late).rejects.toThrow('The upload took too long');
  });
});

test('a store that is away is an error that a client may repeat, and stores nothing', async () => {
  const nowhere = {
    endpoint: 'http://127.0.0.1:9',
    region: 'us-east-1',
    bucket: 'b',
    accessKeyId: 'a',
    secretAccessKey: 's',
  };
  const config: FilesConfig = { folder: undefined, s3: nowhere };
  const files = createStoredFiles(cluster.pool, config);
  const saving = files.save({ id: newID(), tenantID: newID() }, Buffer.from('a'), () => expect.unreachable());

  await expect(saving).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  const elsewhere = createStoredFiles(cluster.pool, { folder: undefined, s3: undefined });
  await expect(elsewhere.read({ id: newID(), tenantID: newID(), store: 's3' })).rejects.toMatchObject({
    code: 'UNAVAILABLE',
  });
});

const INSERT = `
insert into tenant_file (id, tenant_id, file_name, file_type, file_size, digest, store, creator_id)
values ($1, $2, 'a.csv', 'text/csv', $3, $4, $5, $2)`;
