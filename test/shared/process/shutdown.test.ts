import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { spawnNode } from '#test/support/process.ts';

test('a process ends once it has closed, although a connection is open that it has forgotten', async () => {
  await using resources = new AsyncDisposableStack();
  const dir = resources.adopt(await mkdtemp(join(tmpdir(), 'gantry-stop-')), (path) => rm(path, { recursive: true }));
  const path = join(dir, 'said');
  const { child } = resources.use(spawnNode(['test/shared/process/close-amid-connection.ts', path], {}));

  const code = await new Promise((resolve) => child.once('exit', resolve));

  expect(code).toBe(0);
  expect(await readFile(path, 'utf8')).toBe('closed');
});
