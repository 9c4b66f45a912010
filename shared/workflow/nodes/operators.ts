import { z } from 'zod';

/** Operators that only compare values. */
export const PlainOperator = z.enum([
  'equals',
  'not_equals',
  'contains',
  'not_contains',
  'starts_with',
  'ends_with',
  'greater_than',
  'less_than',
  'greater_or_equal',
  'less_or_equal',
  'is_empty',
  'is_not_empty',
]);
export type PlainOperator = z.infer<typeof PlainOperator>;

/** All operators. The last two run a pattern or code of a user in the sandbox. */
export const Operator = z.enum([...PlainOperator.options, 'matches_regex', 'expression']);
export type Operator = z.infer<typeof Operator>;

/** Whether an operator of a saved config only compares values. False for the text of a template, whose operator is not known yet. */
export function isPlain(operator: Operator): operator is PlainOperator {
  return plain.has(operator);
}

const plain: ReadonlySet<Operator> = new Set(PlainOperator.options);
