import { Readable } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';

/** Why bytes were not decompressed. */
export class CannotDecompress extends Error {
  readonly reason: 'unknown' | 'broken' | 'too-large';

  constructor(reason: CannotDecompress['reason'], message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

interface Limits {
  /** Limit of what comes out. */
  maxBytes: number;
  /** Is waited for before more is decompressed. */
  reserve?(bytes: number): Promise<void> | undefined;
}

/** Codings one upon the other: each may make a bomb of a bomb. */
const MAX_CODINGS = 3;

/** The codings of a `Content-Encoding`, in the order in which they were applied. Throws `CannotDecompress` if one is not known. */
export function codingsOf(contentEncoding = ''): Coding[] {
  const codings = contentEncoding
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
  const unknown = codings.find((coding) => !isKnown(coding));
  if (unknown !== undefined || codings.length > MAX_CODINGS)
    throw new CannotDecompress('unknown', `expected ${Object.keys(openers).join(', ')}, received ${contentEncoding}`);
  return codings.filter(isKnown);
}

/** Decompresses a body piece by piece, so that a bomb takes no more memory than the limit. */
export async function decompress(bytes: Buffer, codings: readonly Coding[], limits: Limits): Promise<Buffer> {
  let body = bytes;
  if (bytes.length > 0) for (const coding of codings.toReversed()) body = await decompressOne(body, coding, limits);
  return body;
}

async function decompressOne(bytes: Buffer, coding: Coding, { maxBytes, reserve }: Limits): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of Readable.from([bytes]).pipe(openers[coding](bytes)) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw new CannotDecompress('too-large', `more than ${maxBytes} bytes come out`);
      await reserve?.(chunk.length);
      chunks.push(chunk);
    }
  } catch (error) {
    throw isOfCodec(error) ? new CannotDecompress('broken', `is not valid ${coding}`, error) : error;
  }
  return Buffer.concat(chunks);
}

type Coding = keyof typeof openers;

const openers = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  // Some senders leave out the frame of zlib, which the name of the coding stands for.
  deflate: (bytes: Buffer) => (hasZlibHeader(bytes) ? createInflate() : createInflateRaw()),
  br: () => createBrotliDecompress(),
  // RFC 9659: a window of at most 8 MB. Others would take up to 128 MB.
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: 23 } }),
} as const;

function isKnown(coding: string): coding is Coding {
  return Object.hasOwn(openers, coding);
}

function hasZlibHeader(bytes: Buffer): boolean {
  const [method = 0, flags = 0] = bytes;
  return (method & 0x0f) === 8 && (method * 256 + flags) % 31 === 0;
}

function isOfCodec(error: unknown): boolean {
  return (
    error instanceof Error && 'code' in error && /^(?:Z_|ERR_BROTLI|ERR__ERROR|ZSTD_|ERR_ZSTD)/.test(String(error.code))
  );
}
