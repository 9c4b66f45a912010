import { isObject } from '../ui/is-object.ts';

/** A plan as text. It is one value, or rows of which the last column is the plan, some with lines of its own. */
export function planText(result: unknown): string {
  const rows = Array.isArray(result) && result.every(isObject) ? result.map((row) => Object.values(row)) : [[result]];
  return rows.map((row) => row.map(asText).join(' ').trim()).join('\n');
}

function asText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  return text.includes('\n') ? `\n${text}` : text;
}
