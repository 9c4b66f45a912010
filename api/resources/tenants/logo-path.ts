/** Relative, because the API may be reached by several names. */
export function logoPath(logoID: string): string {
  return `/api/v1/tenant-logos/${logoID}`;
}
