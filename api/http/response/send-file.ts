import { once } from 'node:events';
import type { Response } from 'express';
import { AppError } from '#shared/core/errors.ts';
import type { StoredFiles } from '#shared/datasources/files/files.ts';
import type { TenantFile } from '#shared/entities/tables/tenant-file.ts';
import { rangeOf } from './byte-range.ts';

interface Sending {
  response: Response;
  signal: AbortSignal;
  /** Shown in place by a browser; else it is saved. Only for types that run nothing. */
  isInline?: boolean;
  /** Headers that replace the default, `cache-control: private, no-store`. */
  headers?: Readonly<Record<string, string>>;
}

/** Sends a file that a tenant has uploaded, or a range of it. A browser runs nothing in it, even if its bytes are a page. */
export async function sendFile(
  files: StoredFiles,
  file: TenantFile,
  { response, signal, isInline = false, headers = {} }: Sending,
): Promise<void> {
  const { fileSize: size, digest } = file;
  const etag = `"${Buffer.from(digest, 'hex').toString('base64url')}"`;
  const stored = { etag, 'cache-control': 'private, no-store', ...headers };
  if (isStored(response, etag)) {
    response.status(304).set(stored).end();
    return;
  }
  const range = rangeOf(response.req, { size, etag });
  const bytes = await files.read(file, range);
  const parts = bytes?.[Symbol.asyncIterator]();
  let part = await parts?.next();
  if (!parts || !part || part.done) throw noFile();
  const { start, end } = range ?? { start: 0, end: size - 1 };
  try {
    response.status(range ? 206 : 200).set({
      'content-type': isInline ? file.fileType : 'application/octet-stream',
      'content-length': String(end - start + 1),
      'content-disposition': `${isInline ? 'inline' : 'attachment'}; filename="file"; filename*=UTF-8''${encoded(file.fileName)}`,
      'accept-ranges': 'bytes',
      ...(range && { 'content-range': `bytes ${start}-${end}/${size}` }),
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-site',
      ...stored,
    });
    for (; !part.done; part = await parts.next())
      if (!response.write(part.value)) await once(response, 'drain', { signal });
    response.end();
  } finally {
    await parts.return?.();
  }
}

/** Whether the client has this version of the file already. */
function isStored(response: Response, etag: string): boolean {
  response.set({ etag });
  const isFresh = response.req.fresh;
  response.removeHeader('etag');
  return isFresh;
}

function encoded(name: string): string {
  const wellFormed = name.toWellFormed();
  return encodeURIComponent(wellFormed).replace(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`);
}

export function noFile(): AppError {
  return new AppError('NOT_FOUND', 'File not found');
}
