import { compareDecimals } from '#shared/core/exact-number.ts';
import { cellText } from './cell-text.ts';

/** The key by which a value is sorted. */
export interface SortKey {
  /** Set for numbers, and for texts that are numbers: JSON cannot hold all of them. */
  number: number | undefined;
  text: string;
}

/** Undefined for NULL, which stands at the end in both directions. */
export function sortKeyOf(value: unknown): SortKey | undefined {
  if (value === null || value === undefined) return undefined;
  const text = cellText(value);
  return { number: isNumber.test(text) ? Number(text) : undefined, text };
}

const isNumber = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;
const words = new Intl.Collator(undefined, { numeric: true });

/** Numbers by their size and before texts, texts as people sort them. */
export function compareKeys(one: SortKey, other: SortKey): number {
  if (one.number === undefined || other.number === undefined) {
    if (one.number !== other.number) return one.number === undefined ? 1 : -1;
    return words.compare(one.text, other.text);
  }
  if (one.number !== other.number) return one.number < other.number ? -1 : 1;
  // Numbers that differ may be the same double.
  return compareDecimals(one.text, other.text) || words.compare(one.text, other.text);
}
