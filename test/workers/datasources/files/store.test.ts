import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { aTenant } from '#test/support/factories.ts';
import { type FileWorld, startFileWorld } from '#test/support/tenant-files.ts';
import { createFileStore } from '#workers/datasources/files/store.ts';

let world: FileWorld;
beforeAll(async () => {
  world = await startFileWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const table = (mark: string) => `${mark}\n`.repeat(500);

test('a file is written once for concurrent readers, whole and readable by this user only', async () => {
  await using store = await createFileStore(world.cluster.context);
  const { fileID } = await world.upload('a.csv', table('a'));
  const again = await world.upload('b.csv', table('a'));

  const pinned = await Promise.all([fileID, fileID, again.fileID].map((id) => store.pin(world.tenant.id, id)));

  const [path = ''] = new Set(pinned.map((file) => file.path));
  expect(new Set(pinned.map((file) => file.path)).size).toBe(1);
  expect(readFileSync(path, 'utf8')).toBe(table('a'));
  expect(statSync(store.folder).mode & 0o777).toBe(0o700);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('the same bytes of another tenant are a separate copy, which only that tenant can name', async () => {
  await using store = await createFileStore(world.cluster.context);
  const other = await aTenant(world.cluster);
  const mine = await world.upload('a.csv', table('a'));
  const theirs = await world.upload('a.csv', table('a'), other);
  using pinned = await store.pin(world.tenant.id, mine.fileID);

  await expect(store.pin(other.id, mine.fileID)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  using copy = await store.pin(other.id, theirs.fileID);

  expect(copy.path).not.toBe(pinned.path);
});

test('a full store deletes files not in use, the least recently used first', async () => {
  await using store = await createFileStore(world.cluster.context, { maxBytes: 2_500 });
  const ids: string[] = [];
  for (const mark of ['1', '2', '3']) ids.push((await world.upload('a.csv', table(mark))).fileID);
  const pin = (index: number) => store.pin(world.tenant.id, ids[index] ?? '');
  const [first, second] = [await pin(0), await pin(1)];
  second[Symbol.dispose]();

  using third = await pin(2);

  await expect.poll(() => existsSync(second.path)).toBe(false);
  expect([existsSync(first.path), existsSync(third.path)]).toEqual([true, true]);
  // A deleted file is downloaded again when it is needed.
  using back = await pin(1);
  expect(readFileSync(back.path, 'utf8')).toBe(table('2'));
});

test('the folder of a worker that was killed is removed by the next one, and no other', async () => {
  await using first = await createFileStore(world.cluster.context);
  const { pid } = spawnSync('true');
  const at = (owner: string) => first.folder.replace(/-\d+-([^-]+)$/, `-${owner}-x$1`);
  const left = [at(String(pid)), at(String(process.pid))];
  const others = [
    at(String(process.ppid)),
    at(`9999999-${pid}`),
    at('1').replace('gantry-files-', 'gantry-files-elsewhere-'),
  ];
  onTestFinished(() => {
    for (const folder of [...left, ...others]) rmSync(folder, { recursive: true, force: true });
  });
  for (const folder of [...left, ...others]) {
    mkdirSync(folder);
    writeFileSync(`${folder}/copy`, 'bytes');
  }

  await using second = await createFileStore(world.cluster.context);

  expect(left.map((folder) => existsSync(folder))).toEqual([false, false]);
  expect([first.folder, second.folder, ...others].every((folder) => existsSync(folder))).toBe(true);
});

test('a file with other bytes than the uploaded ones is not given out', async () => {
  await using store = await createFileStore(world.cluster.context);
  const { fileID } = await world.upload('a.csv', table('x'));
  await world.cluster.context.pool.query(`update tenant_file_chunk set bytes = 'y' where file_id = $1`, [fileID]);

  await expect(store.pin(world.tenant.id, fileID)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
