import pg from 'pg';
import type { Column } from './catalog.ts';

/** A value of a statement, as the server reads it, and its column. */
export interface Value {
  text: string | null;
  column: Pick<Column, 'name' | 'type'>;
  /** Name of its field in the request. */
  field: string;
}

/** Runs a statement with values. Adds the column to an error about a value, which the server names by number only. */
export async function withValues<T>(
  values: readonly Value[],
  work: (texts: (string | null)[]) => Promise<T>,
): Promise<T> {
  try {
    return await work(values.map(({ text }) => text));
  } catch (error) {
    throw withColumn(error, values);
  }
}

function withColumn(error: unknown, values: readonly Value[]): unknown {
  if (!(error instanceof pg.DatabaseError)) return error;
  const [, number] = /\bportal parameter \$(\d+)/.exec(error.where ?? '') ?? [];
  const value = values[Number(number) - 1];
  if (!value) return error;
  const { column, field } = value;
  error.message = `${field}: "${column.name}" is ${column.type}: ${error.message}`;
  error.column = column.name;
  return error;
}
