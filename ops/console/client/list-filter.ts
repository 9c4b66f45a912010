/** The filter of a list of assets, as it stands in the address. */
export interface ListFilter {
  search?: string;
  folderID?: string;
  cursor?: string;
}

export function parseListFilter(given: Record<string, unknown>): ListFilter {
  const found = (['search', 'folderID', 'cursor'] as const).flatMap((name) => {
    const value = given[name];
    // The address of a router holds a text of digits as a number.
    return (typeof value === 'string' && value !== '') || typeof value === 'number' ? [[name, String(value)]] : [];
  });
  return Object.fromEntries(found);
}
