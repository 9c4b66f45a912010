import { once } from 'node:events';
import type { Response } from 'express';
import type { TenantFile } from '#shared/db/entities/tenant-file.ts';
import { AppError } from '#shared/errors.ts';
import type { StoredFiles } from '#shared/files/files.ts';

interface Sending {
  response: Response;
  signal: AbortSignal;
  /** Shown in place by a browser; else it is saved. Only for types that run nothing. */
  isInline?: boolean;
}

/** Sends a file that a tenant has uploaded. A browser runs nothing in it, even if its bytes are a page. */
export async function sendFile(
  files: StoredFiles,
  file: TenantFile,
  { response, signal, isInline = false }: Sending,
): Promise<void> {
  const bytes = await files.read(file);
  const parts = bytes?.[Symbol.asyncIterator]();
  let part = await parts?.next();
  if (!parts || !part || part.done) throw noFile();
  try {
    response.set({
      'content-type': isInline ? file.fileType : 'application/octet-stream',
      'content-length': String(file.fileSize),
      'content-disposition': `${isInline ? 'inline' : 'attachment'}; filename="file"; filename*=UTF-8''${encoded(file.fileName)}`,
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-site',
      'cache-control': 'private, no-store',
    });
    for (; !part.done; part = await parts.next())
      if (!response.write(part.value)) await once(response, 'drain', { signal });
    response.end();
  } finally {
    await parts.return?.();
  }
}

function encoded(name: string): string {
  const wellFormed = name.toWellFormed();
  return encodeURIComponent(wellFormed).replace(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`);
}

export function noFile(): AppError {
  return new AppError('NOT_FOUND', 'File not found');
}
