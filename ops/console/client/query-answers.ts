import { type Shape, shapeOf, type TypeName } from '#shared/workflow/nodes/results.ts';
import { keep } from './keep.ts';

interface Answer {
  dataQueryResult: unknown;
  columns?: readonly { name: string; type: string }[] | undefined;
}

/** Columns beyond that many are not remembered. */
const MAX_COLUMNS = 200;

/**
 * Remembers the columns that a query has answered with, and none of its values, as long as the tab is open. It is found by its id, and by
 * its text: it may have been tried before it was saved.
 */
export function rememberAnswer(tenantID: string, query: unknown, { dataQueryResult, columns = [] }: Answer): void {
  const key = keyOf(tenantID, query);
  const [row] = Array.isArray(dataQueryResult) ? dataQueryResult : [];
  const known = columns.length > 0 ? columns.map(({ name }) => name) : Object.keys(isRow(row) ? row : {});
  if (key === undefined || known.length === 0 || !Array.isArray(dataQueryResult)) return;
  const types = known.slice(0, MAX_COLUMNS).map((name) => {
    const type = isRow(row) && row[name] !== null ? shapeOf(row[name]).type : 'any value';
    return [name, type] as const;
  });
  keep(key, JSON.stringify(types));
}

/** The shape of the answer of a query, by its id or text; undefined if it is not known. */
export function shapeOfAnswer(tenantID: string, query: unknown): Shape | undefined {
  const key = keyOf(tenantID, query);
  const stored = key === undefined ? null : sessionStorage.getItem(key);
  if (stored === null) return undefined;
  const fields = (JSON.parse(stored) as [string, TypeName][]).map(([name, type]) => [name, { type }] as const);
  // No field is marked as certain: another person may have changed the query since.
  return { type: 'list', items: { type: 'object', fields: Object.fromEntries(fields) } };
}

/** The text of a query, or its id. */
function keyOf(tenantID: string, query: unknown): string | undefined {
  return typeof query === 'string' && query.trim() !== '' ? `gantry.answer.${tenantID}.${query.trim()}` : undefined;
}

function isRow(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
