/** Names of stores, as `tenant_file.store` has them. */
export type StoreName = 'postgres' | 'folder' | 's3';

/** Positions of the first and the last byte, both included, as a request has them. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * Keeps the bytes of files by key, outside of Postgres. A key is written once. Every method may be repeated: after a lost answer it
 * leaves the same state.
 */
export interface BlobStore {
  readonly name: Exclude<StoreName, 'postgres'>;
  put(key: string, bytes: Buffer): Promise<void>;
  /** All bytes, or those of a range inside the file. Undefined if there is no such key. */
  read(key: string, range?: ByteRange): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Also succeeds if there is no such key. */
  delete(key: string): Promise<void>;
}
