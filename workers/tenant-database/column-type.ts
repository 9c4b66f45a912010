import { AppError } from '#shared/errors.ts';
import type { PostgresConnection } from '../postgresql/connection.ts';

/** An integer that counts by itself: what a table is made with and no type of its own. */
const SERIAL: Record<string, string> = { smallserial: 'smallint', serial: 'integer', bigserial: 'bigint' };

export interface ColumnType {
  /** For a definition. */
  sql: string;
  /** As the catalogue names it, to compare with what is there. */
  name: string;
  /** Without the numbers, for a cast: one to `varchar(5)` would cut what is longer, and tell nobody. */
  base: string;
}

/** What a client calls a type, in the catalogue's own words: nothing of the client's text reaches a statement but two numbers. */
export async function findColumnType(
  connection: PostgresConnection,
  { type, isList, field }: { type: string; isList: boolean; field: string },
): Promise<ColumnType> {
  const serial = SERIAL[type.trim().toLowerCase()];
  if (serial && !isList) return { sql: type.trim().toLowerCase(), name: serial, base: serial };
  const parts = form.exec(type.trim())?.groups;
  if (!parts) throw noType(type, field);
  const { base = '', numbers = '', rest = '', list = '' } = parts;
  const found = await lookUp(connection, `${base}${rest}`);
  if (!found) throw noType(type, field);
  const modifier = numbers.replace(/\s/g, '');
  const name = modifier ? found.name.replace(/(?= with(?:out)? time zone$)|$/, modifier) : found.name;
  const brackets = isList || list ? '[]' : '';
  return { sql: `${name}${brackets}`, name: `${name}${brackets}`, base: `${found.base}${brackets}` };
}

const form =
  /^(?<base>(?:"(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_]*)(?:(?:\s*\.\s*|\s+)(?:"(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_]*))*?)(?<numbers>\s*\(\s*\d{1,6}\s*(?:,\s*-?\d{1,6}\s*)?\))?(?<rest>\s+with(?:out)?\s+time\s+zone)?(?<list>(?:\s*\[\s*\d{0,9}\s*\])*)$/iu;

/** The server's own reading; what it cannot read is no type. Pseudo-types are none of a column. */
async function lookUp(
  connection: PostgresConnection,
  name: string,
): Promise<{ name: string; base: string } | undefined> {
  const { rows } = await connection
    .query<{ name: string; base: string }>(
      `select format_type(t.oid, null) as name, format_type(t.oid, -1) as base from pg_catalog.pg_type t where t.oid = to_regtype($1) and t.typtype <> 'p'`,
      [name],
    )
    .catch((error: unknown) => {
      // Servers before 17 throw what they cannot read.
      if (error instanceof Error && 'code' in error && error.code === '42601') return { rows: [] };
      throw error;
    });
  return rows[0];
}

function noType(type: string, field: string): AppError {
  return new AppError('VALIDATION_ERROR', `${field}: there is no type "${type}"`);
}
