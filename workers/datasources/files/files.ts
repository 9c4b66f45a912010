import type { Logger } from '#shared/core/logger.ts';
import { fileIDOf } from '#shared/datasources/fields/file-info.ts';
import type { StoredFiles } from '#shared/datasources/files/files.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { ReadableFile, ReadRequest, ReadResult } from './protocol.ts';
import { createReaders } from './readers.ts';
import { createFileStore } from './store.ts';

export interface FileRequest {
  tenantID: string;
  /** `filePath` of each file, as stored in the datasource. */
  filePaths: readonly string[];
  /** Makes the request from the files on this worker's disk, in the same order. */
  request(files: readonly ReadableFile[]): ReadRequest;
  signal: AbortSignal;
}

/** Reads files of tenants in separate processes. */
export interface Files extends AsyncDisposable {
  /** Folder of this worker's copies. */
  readonly folder: string;
  read(request: FileRequest): Promise<ReadResult>;
}

interface Needs {
  pool: Pool;
  files: StoredFiles;
  logger: Logger;
}

export async function createFiles({ pool, files: stored, logger }: Needs): Promise<Files> {
  await using resources = new AsyncDisposableStack();
  const store = resources.use(await createFileStore({ pool, files: stored }));
  const readers = resources.use(createReaders(store.folder, logger));
  const owned = resources.move();
  return {
    folder: store.folder,
    async read({ tenantID, filePaths, request, signal }) {
      signal.throwIfAborted();
      using pinned = new DisposableStack();
      const files: ReadableFile[] = [];
      for (const filePath of filePaths) {
        const { path, fileType } = pinned.use(await store.pin(tenantID, fileIDOf(filePath)));
        files.push({ path, fileType });
      }
      return await readers.read({ tenantID, request: request(files), signal });
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
