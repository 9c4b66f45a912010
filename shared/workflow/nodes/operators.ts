import type { z } from 'zod';
import { namedEnum } from '../../core/schema/enum-names.ts';

const plainNames = {
  equals: 'is',
  not_equals: 'is not',
  contains: 'contains',
  not_contains: 'does not contain',
  starts_with: 'begins with',
  ends_with: 'ends with',
  greater_than: 'is greater than',
  less_than: 'is less than',
  greater_or_equal: 'is at least',
  less_or_equal: 'is at most',
  is_empty: 'is empty',
  is_not_empty: 'is not empty',
} as const;

/** Operators that only compare values. */
export const PlainOperator = namedEnum(plainNames);
export type PlainOperator = z.infer<typeof PlainOperator>;

/** All operators. The last two run a pattern or code of a user in the sandbox. */
export const Operator = namedEnum({
  ...plainNames,
  matches_regex: 'matches the pattern',
  expression: 'is computed by an expression',
});
export type Operator = z.infer<typeof Operator>;

/** Whether an operator of a saved config only compares values. False for the text of a template, whose operator is not known yet. */
export function isPlain(operator: Operator): operator is PlainOperator {
  return plain.has(operator);
}

const plain: ReadonlySet<Operator> = new Set(PlainOperator.options);
