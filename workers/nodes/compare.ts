import { compareDecimals } from '#shared/core/exact-number.ts';
import type { Json } from '#shared/core/json.ts';
import type { PlainOperator } from '#shared/workflow/nodes/operators.ts';

/**
 * Equality and search convert both values to text, order converts both to numbers, with all digits of texts. Values that cannot be
 * converted do not match.
 */
export function compare(operator: PlainOperator, left: Json, right: Json | undefined): boolean {
  try {
    return comparisons[operator](left, right);
  } catch {
    return false;
  }
}

type Comparison = (left: Json, right: Json | undefined) => boolean;

const comparisons: Record<PlainOperator, Comparison> = {
  equals: (left, right) => toText(left) === toText(right),
  not_equals: (left, right) => toText(left) !== toText(right),
  contains: (left, right) => toText(left).includes(toText(right)),
  not_contains: (left, right) => !toText(left).includes(toText(right)),
  starts_with: (left, right) => toText(left).startsWith(toText(right)),
  ends_with: (left, right) => toText(left).endsWith(toText(right)),
  greater_than: (left, right) => order(left, right) > 0,
  less_than: (left, right) => order(left, right) < 0,
  greater_or_equal: (left, right) => order(left, right) >= 0,
  less_or_equal: (left, right) => order(left, right) <= 0,
  is_empty: (left) => isEmpty(left),
  is_not_empty: (left) => !isEmpty(left),
};

/** Negative, zero or positive; NaN if a value is no number. */
function order(left: Json, right: Json | undefined): number {
  const [one, other] = [Number(left), Number(right)];
  if (one !== other) return one < other ? -1 : one > other ? 1 : Number.NaN;
  // Two numbers may be one as doubles, and differ as they are written.
  return compareDecimals(String(left), String(right)) ?? 0;
}

/** Converts a value to text as templates do: null to an empty text. Objects become JSON, or all of them would be equal. */
export function toText(value: Json | undefined): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  return typeof value === 'object' && !Array.isArray(value) ? JSON.stringify(value) : String(value);
}

function isEmpty(value: Json | undefined): boolean {
  return value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0);
}
