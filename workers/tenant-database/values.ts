import pg from 'pg';
import type { Column } from './catalog.ts';

/** Of a statement: as the server reads it, and what it is for. */
export interface Value {
  text: string | null;
  column: Pick<Column, 'name' | 'type'>;
  /** What the client calls the place that it comes from. */
  field: string;
}

/** Works with the values of a statement. The server counts those that it cannot read; a client wants to hear of which column. */
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
