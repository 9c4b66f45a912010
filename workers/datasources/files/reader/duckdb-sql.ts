import type { DuckDBConnection } from '@duckdb/node-api';

/** A text as a literal of DuckDB. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** The columns that a reader finds in its file, with the types that DuckDB chooses for them. */
export async function columnTypes(connection: DuckDBConnection, reader: string): Promise<Map<string, string>> {
  const described = await connection.runAndReadAll(`describe select * from ${reader}`);
  return new Map(
    described.getRowObjectsJson().map(({ column_name: name, column_type: type }) => [String(name), String(type)]),
  );
}
