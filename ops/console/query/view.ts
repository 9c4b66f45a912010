import { isObject } from '../ui/is-object.ts';
import { type Form, propertiesOf, type Schema } from '../ui/schema-shape.ts';

/** The part of a query that is shown, as it stands in the address. */
export interface QueryView {
  tab?: 'history';
  cursor?: string;
}

export function parseQueryView({ tab, cursor }: Record<string, unknown>): QueryView {
  if (tab !== 'history') return {};
  return { tab, ...(typeof cursor === 'string' && cursor !== '' && { cursor }) };
}

/** Whether queries by a form are SQL, of which a server can tell the plan, and tables are known. */
export function isSQL({ schema }: Form): boolean {
  const { query, url } = propertiesOf(schema as Schema);
  return query?.type === 'string' && url === undefined;
}

/** A plan as text. It is one value, or rows of which the last column is the plan, some with lines of its own. */
export function planText(result: unknown): string {
  const rows = Array.isArray(result) && result.every(isObject) ? result.map((row) => Object.values(row)) : [[result]];
  return rows.map((row) => row.map(asText).join(' ').trim()).join('\n');
}

function asText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  return text.includes('\n') ? `\n${text}` : text;
}
