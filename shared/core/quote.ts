/** A value as error messages show it: `"abc"`, `5`, `a list of 2 items`, `nothing`. Long texts are cut. */
export function quote(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return `a list of ${countOf(value.length, 'item')}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value !== 'string') return String(value);
  if (value.length <= MAX_QUOTED) return JSON.stringify(value);
  return `${JSON.stringify(value.slice(0, MAX_QUOTED).toWellFormed())}… (${value.length} characters)`;
}

const MAX_QUOTED = 50;

/** `1 item`, `2 items`. */
export function countOf(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
