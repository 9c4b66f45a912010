import { addRows, MAX_ADDED, type Row, type TableIDs } from '../client/database.ts';
import { APIError } from '../client/rest.ts';

/** Adds rows whose names stood in a line before them. Goes on behind the rows that an attempt before has added. */
export async function addInParts(
  ids: TableIDs,
  rows: readonly Row[],
  from: number,
  onAdded: (count: number) => void,
): Promise<void> {
  for (let at = from; at < rows.length; at += MAX_ADDED) {
    const part = rows.slice(at, at + MAX_ADDED);
    try {
      await addRows(ids, part);
    } catch (error) {
      throw withLine(error, at);
    }
    onAdded(at + part.length);
  }
}

/** The line in which a refused row stands: the first line names the columns. */
function withLine(error: unknown, at: number): unknown {
  if (!(error instanceof APIError)) return error;
  const [issue] = error.issues;
  const index = issue?.path.find((part) => typeof part === 'number');
  if (!issue || typeof index !== 'number') return error;
  const column = issue.path.at(-1);
  const inColumn = typeof column === 'string' ? `, ${column}` : '';
  return new Error(`Row ${at + index + 2}${inColumn}: ${issue.message}`);
}
