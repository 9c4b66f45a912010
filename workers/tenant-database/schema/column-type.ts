import type { AppError } from '#shared/core/errors.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { PostgresConnection } from '../../connections/postgresql/connection.ts';

/** Auto-incrementing integers: allowed in definitions, but not types of their own. */
const SERIAL: Record<string, string> = { smallserial: 'smallint', serial: 'integer', bigserial: 'bigint' };

export interface ColumnType {
  /** As written in a definition. */
  sql: string;
  /** As the catalogue names it, to compare with an existing column. */
  name: string;
  /** Name of the type without the numbers, for a cast: a cast to `varchar(5)` would truncate longer values without an error. */
  base: string;
}

/** Translates a client's name of a type to the catalogue's. Of the client's text only two numbers reach a statement. */
export async function findColumnType(
  connection: PostgresConnection,
  { type, isList, field }: { type: string; isList: boolean; field: string },
): Promise<ColumnType> {
  const serial = SERIAL[type.trim().toLowerCase()];
  if (serial && !isList) return { sql: type.trim().toLowerCase(), name: serial, base: serial };
  const parts = form.exec(type.trim())?.groups;
  if (!parts) throw noType(type, field);
  const { base = '', numbers = '', rest = '', list = '' } = parts;
  const found = await resolveType(connection, `${base}${rest}`);
  if (!found) throw noType(type, field);
  const modifier = numbers.replace(/\s/g, '');
  const name = modifier ? found.name.replace(/(?= with(?:out)? time zone$)|$/, modifier) : found.name;
  const brackets = isList || list ? '[]' : '';
  return { sql: `${name}${brackets}`, name: `${name}${brackets}`, base: `${found.base}${brackets}` };
}

/** A name, perhaps with a schema or of several words; numbers; a time zone; brackets of a list. */
const form =
  /^(?<base>(?:"(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_]*)(?:(?:\s*\.\s*|\s+)(?:"(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_]*))*?)(?<numbers>\s*\(\s*\d{1,6}\s*(?:,\s*-?\d{1,6}\s*)?\))?(?<rest>\s+with(?:out)?\s+time\s+zone)?(?<list>(?:\s*\[\s*\d{0,9}\s*\])*)$/iu;

/** Lets the server parse the name; undefined if it is not a type. Pseudo-types cannot be column types. */
async function resolveType(
  connection: PostgresConnection,
  name: string,
): Promise<{ name: string; base: string } | undefined> {
  const { rows } = await connection
    .query<{ name: string; base: string }>(
      `select format_type(t.oid, null) as name, format_type(t.oid, -1) as base from pg_catalog.pg_type t where t.oid = to_regtype($1) and t.typtype <> 'p'`,
      [name],
    )
    .catch((error: unknown) => {
      // Servers before 17 throw for a name that they cannot parse.
      if (error instanceof Error && 'code' in error && error.code === '42601') return { rows: [] };
      throw error;
    });
  return rows[0];
}

function noType(type: string, field: string): AppError {
  return invalidField(field, `there is no type "${type}"`);
}
