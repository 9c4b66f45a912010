import { z } from 'zod';

/** Fields of every response about a file of widgets. */
export const widgetFileFields = {
  fileID: z.uuid(),
  url: z.string().describe('Where the file can be read, relative to the API'),
  filePath: z.string(),
  fileName: z.string(),
  fileSize: z.int(),
  fileType: z.string(),
};

/** The URL from which a file of widgets is read, and the path by which configs name it. */
export function fileAddressOf(tenantID: string, fileID: string): { url: string; filePath: string } {
  const filePath = `widget-files/${tenantID}/${fileID}`;
  return { url: `/api/v1/tenants/${tenantID}/widgets/files?path=${encodeURIComponent(filePath)}`, filePath };
}
