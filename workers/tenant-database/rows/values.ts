import pg from 'pg';
import type { AppError } from '#shared/core/errors.ts';
import { isJsonObject } from '#shared/core/json.ts';
import { invalid, type Path } from '#shared/core/schema/issues.ts';
import { statementError } from '../../connections/postgresql/errors.ts';
import type { Column } from '../catalog.ts';

/** A value of a statement, as the server reads it, and its column. */
export interface Value {
  text: string | null;
  column: Pick<Column, 'name' | 'type'>;
  /** Path of the value in the request. */
  path: Path;
}

/** Runs a statement with values. An error about a value, which the server names by number only, gets its path in the request. */
export async function withValues<T>(
  values: readonly Value[],
  work: (texts: (string | null)[]) => Promise<T>,
): Promise<T> {
  try {
    return await work(values.map(({ text }) => text));
  } catch (error) {
    throw valueError(error, values) ?? error;
  }
}

function valueError(error: unknown, values: readonly Value[]): AppError | undefined {
  if (!(error instanceof pg.DatabaseError)) return undefined;
  const [, number] = /\bportal parameter \$(\d+)/.exec(error.where ?? '') ?? [];
  const value = values[Number(number) - 1];
  const known = statementError(error);
  if (!value || known?.code !== 'DB_ERROR') return undefined;
  const { column, path } = value;
  return invalid([{ path: [...path], message: `must be ${column.type}: ${known.message}` }], {
    code: 'DB_ERROR',
    cause: error,
    details: { ...(isJsonObject(known.details) && known.details), column: column.name },
  });
}
