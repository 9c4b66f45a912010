/** The part of the database that is shown, as it stands in the address. */
export interface DatabaseView {
  tab?: 'sql' | 'columns';
  schema?: string;
  table?: string;
  page?: number;
  /** A filter of rows as the API takes it: JSON. */
  q?: string;
}

export function parseDatabaseView({ tab, schema, table, page, q }: Record<string, unknown>): DatabaseView {
  const isName = (value: unknown) => (typeof value === 'string' && value !== '') || typeof value === 'number';
  return {
    ...((tab === 'sql' || tab === 'columns') && { tab }),
    ...(isName(schema) && { schema: String(schema) }),
    ...(isName(table) && { table: String(table) }),
    ...(typeof page === 'number' && page > 1 && { page }),
    // The router reads JSON in an address.
    ...(q !== undefined && q !== null && q !== '' && { q: typeof q === 'string' ? q : JSON.stringify(q) }),
  };
}
