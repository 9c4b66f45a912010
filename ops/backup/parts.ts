import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import type { Part, Unit } from './manifest.ts';
import type { BackupStore } from './store.ts';

/** A process has one or two parts in memory, however large the database is. */
const PART_BYTES = 8 * 1024 * 1024;

/** Waits so that no more bytes a second are written than the rate allows. */
export type Throttle = (bytes: number) => Promise<void>;

export function createThrottle(bytesPerSecond: number | undefined): Throttle {
  let free = performance.now();
  return async (bytes) => {
    if (bytesPerSecond === undefined) return;
    free = Math.max(free, performance.now()) + (bytes / bytesPerSecond) * 1_000;
    await sleep(free - performance.now());
  };
}

/** Compresses a stream, and writes it in parts. */
export async function writeParts(
  { store, throttle }: { store: BackupStore; throttle: Throttle },
  name: string,
  source: Readable,
): Promise<Part[]> {
  const parts: Part[] = [];
  await pipeline(source, createZstdCompress(), async (compressed: AsyncIterable<Buffer>) => {
    for await (const bytes of inParts(compressed)) {
      await store.put(partName(name, parts.length), bytes);
      parts.push({ bytes: bytes.length, sha256: sha256(bytes) });
      await throttle(bytes.length);
    }
  });
  return parts;
}

async function* inParts(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes < PART_BYTES) continue;
    yield Buffer.concat(chunks);
    chunks = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(chunks);
}

/** The parts of a unit as they were stored. Throws at the first that is missing or has changed. */
export async function* readParts(store: BackupStore, { name, parts }: Unit): AsyncGenerator<Buffer> {
  for (const [n, part] of parts.entries()) {
    const object = partName(name, n);
    const bytes = await store.get(object);
    if (!bytes) throw new Error(`The backup is damaged: ${object} is missing in ${store.address}`);
    if (bytes.length !== part.bytes || sha256(bytes) !== part.sha256)
      throw new Error(`The backup is damaged: ${object} in ${store.address} has changed since it was written`);
    yield bytes;
  }
}

/** The stream that was written, checked as it is read. */
export function readUnit(store: BackupStore, unit: Unit): Readable {
  const decompressed = createZstdDecompress();
  // An error destroys the stream that the caller reads.
  pipeline(Readable.from(readParts(store, unit)), decompressed).catch(() => undefined);
  return decompressed;
}

function partName(unit: string, n: number): string {
  return `${unit}/${String(n + 1).padStart(6, '0')}.zst`;
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
