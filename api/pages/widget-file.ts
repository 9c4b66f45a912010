import { z } from 'zod';
import { quote } from '#shared/core/quote.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { TenantFile } from '#shared/entities/tables/tenant-file.ts';
import { noFile, sendFile } from '../http/response/send-file.ts';

/** Types that a browser shows in place: it runs nothing in them. SVG and HTML can contain scripts. */
const SHOWN = /^(image|video|audio)\//;

/** The path of an uploaded file. Only the two ids in it are used, so it leads to no other file. */
export const FilePath = z
  .string()
  .max(255)
  .transform((path, check) => {
    const [, tenantID, fileID] = /^widget-files\/([^/]+)\/([^/]+)$/.exec(path) ?? [];
    const ids = z.object({ tenantID: idOf('tenant'), fileID: idOf('file') }).safeParse({ tenantID, fileID });
    if (ids.success) return ids.data;
    check.addIssue({ code: 'custom', message: `expected the filePath of an uploaded file, received ${quote(path)}` });
    return z.NEVER;
  });

interface Wanted {
  em: EntityManager;
  tenantID: string;
  path: z.output<typeof FilePath>;
  response: Parameters<typeof sendFile>[2]['response'];
  signal: AbortSignal;
}

/** Sends a file of widgets of this tenant; any other is not found. */
export async function sendWidgetFile(
  files: Parameters<typeof sendFile>[0],
  { em, tenantID, path, response, signal }: Wanted,
): Promise<void> {
  const file = path.tenantID === tenantID ? await em.findOne(TenantFile, { id: path.fileID, purpose: 'widget' }) : null;
  if (!file) throw noFile();
  await sendFile(files, file, { response, signal, isInline: SHOWN.test(file.fileType) });
}
