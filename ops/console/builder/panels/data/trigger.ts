import { isReading } from '../../made/page-of-query.ts';

type Values = Readonly<Record<string, unknown>>;

export const triggers = [
  { value: 'auto', label: 'At opening' },
  { value: 'reactive', label: 'At opening, and when an input changes' },
  { value: 'manual', label: 'By an action alone, as of a button' },
];

/** When a query that is added is run: what may change something, or is not known, by an action alone. */
export function triggerFor(options: Values | undefined, inputs: Values = {}): string {
  if (!options || !isReading(options, inputs)) return 'manual';
  return hasExpression(inputs) ? 'reactive' : 'auto';
}

function hasExpression(value: unknown): boolean {
  return JSON.stringify(value).includes('{{');
}
