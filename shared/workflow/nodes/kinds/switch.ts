import { z } from 'zod';
import { Json } from '../../../core/json.ts';
import { parseValue } from '../../../core/schema/parse.ts';
import { findTemplate } from '../../templates/templates.ts';
import { working } from '../common.ts';
import { defineNode } from '../define-node.ts';
import { elseExitByConfig, exitsByConfig } from '../exits.ts';
import { isPlain, Operator } from '../operators.ts';

export const SwitchCase = z.object({
  operator: Operator.default('equals').meta({ title: 'Operator', description: 'How the value is compared' }),
  matchValue: Json.default(null).meta({
    title: 'Compared with',
    description: 'A value; JavaScript where the operator is an expression',
  }),
  label: z.string().optional().meta({ title: 'Label', description: 'Name of the case on the canvas' }),
  id: z.string().min(1).meta({ title: 'Exit', description: 'A short name that no other case has' }),
});
export type SwitchCase = z.infer<typeof SwitchCase>;

/** The fields of a saved config in which an expression may be found. Other fields are not checked here: they may have templates. */
const Expressions = z.object({ cases: z.array(z.object({ operator: Operator, matchValue: z.unknown() })) });

/** Compares one value with each case. Leaves by the first that matches, else by `default`. */
export const switchNode = defineNode({
  kind: 'switch',
  label: 'Switch',
  config: z
    .object({
      ...working,
      switchValue: Json.meta({
        title: 'Value',
        description: 'What each case is compared with, such as {{ctx.input.country}}',
      }),
      cases: z.array(SwitchCase).min(1).meta({
        title: 'Cases',
        description: 'In this order; the first that matches is taken, else the exit `default`',
      }),
    })
    .refine(({ cases }) => new Set(cases.map(({ id }) => id)).size === cases.length, {
      path: ['cases'],
      message: 'case ids must be unique',
    }),
  names: {},
  exits: exitsByConfig.switch,
  // A function, because an edge that names no case was more likely forgotten than meant for the default.
  usualExit: () => 'default',
  elseExit: elseExitByConfig.switch,
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
