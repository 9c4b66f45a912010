/** Relative to the API, whatever name it is reached by. */
export function logoPath(logoID: string): string {
  return `/api/v1/tenant-logos/${logoID}`;
}
