/** Where a file of widgets is read, and how configs name it. */
export function fileAddressOf(tenantID: string, fileID: string): { url: string; filePath: string } {
  const filePath = `widget-files/${tenantID}/${fileID}`;
  return { url: `/api/v1/tenants/${tenantID}/widgets/files?path=${encodeURIComponent(filePath)}`, filePath };
}
