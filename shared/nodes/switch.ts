import { z } from 'zod';
import { Json } from '../json.ts';
import { parseValue } from '../parse-value.ts';
import { findTemplate } from '../workflow/templates.ts';
import { working } from './common.ts';
import { defineNode } from './define-node.ts';
import { isPlain, Operator } from './operators.ts';

export const SwitchCase = z.object({
  id: z.string().min(1),
  label: z.string().optional(),
  operator: Operator.default('equals'),
  matchValue: Json.default(null),
});
export type SwitchCase = z.infer<typeof SwitchCase>;

/** The parts of a saved config that may hold expressions; templates may stand everywhere else. */
const Expressions = z.object({ cases: z.array(z.object({ operator: Operator, matchValue: z.unknown() })) });

/** Compares one value with each case. Leaves by the first that matches, else by `default`. */
export const switchNode = defineNode({
  kind: 'switch',
  label: 'Switch',
  config: z
    .object({ ...working, switchValue: Json, cases: z.array(SwitchCase).min(1) })
    .refine(({ cases }) => new Set(cases.map(({ id }) => id)).size === cases.length, {
      path: ['cases'],
      message: 'case ids must be unique',
    }),
  names: {},
  exits: ({ cases }) => [...cases.map(({ id }) => id), 'default', 'error'],
  // A function, because an edge that names no case was more likely forgotten than meant for the default.
  usualExit: () => 'default',
  elseExit: () => 'default',
  pure: ({ cases }) => cases.every(({ operator }) => isPlain(operator)),
  clocked: false,
  snippets(config) {
    const parsed = parseValue(Expressions, config);
    const cases = parsed.success ? parsed.data.cases : [];
    return cases.flatMap(({ operator, matchValue }, at) => {
      // A template is replaced before the expression is compiled.
      if (operator !== 'expression' || typeof matchValue !== 'string' || findTemplate(matchValue)) return [];
      return [{ path: ['cases', at, 'matchValue'], text: matchValue, form: 'expression' as const }];
    });
  },
  templated: ['switchValue', 'cases.*.matchValue'],
  timeoutSeconds: 30,
  defaultValue: {
    title: 'Switch',
    switchValue: '{{ctx.input.value}}',
    cases: [{ id: 'first', label: 'First', operator: 'equals', matchValue: 'a' }],
  },
});
