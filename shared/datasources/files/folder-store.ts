import { randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { BlobStore } from './store.ts';

const KEY = /^[\da-f-]{36}\/[\da-f-]{36}$/;

/** Files in a folder, which all processes of the deployment see under the same path. */
export function createFolderStore(folder: string): BlobStore {
  return {
    name: 'folder',
    async put(key, bytes) {
      const path = pathOf(folder, key);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      // The file has another name until it is complete, so that a process that dies leaves no incomplete file under the key.
      const partialPath = `${path}.${randomUUID()}.part`;
      try {
        await using file = await open(partialPath, 'wx', 0o600);
        await file.writeFile(bytes);
        await file.sync();
        await rename(partialPath, path);
      } catch (error) {
        await rm(partialPath, { force: true });
        throw error;
      }
    },
    async read(key, range) {
      const file = await open(pathOf(folder, key)).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined;
        throw error;
      });
      return file?.createReadStream({ highWaterMark: 1024 * 1024, ...range });
    },
    async delete(key) {
      await rm(pathOf(folder, key), { force: true });
    },
  };
}

function pathOf(folder: string, key: string): string {
  if (!KEY.test(key)) throw new Error(`"${key}" is no key of a file`);
  return join(folder, key);
}
