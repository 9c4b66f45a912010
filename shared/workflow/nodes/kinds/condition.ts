import { z } from 'zod';
import { Json } from '../../../core/json.ts';
import { namedEnum } from '../../../core/schema/enum-names.ts';
import { parseValue } from '../../../core/schema/parse.ts';
import { findTemplate } from '../../templates/templates.ts';
import { working } from '../common.ts';
import { defineNode } from '../define-node.ts';
import { elseExitByConfig, exitsByConfig } from '../exits.ts';
import { isPlain, Operator } from '../operators.ts';

export const Comparison = z.object({
  leftValue: Json.meta({
    title: 'Value',
    description:
      'The value to look at, such as {{ctx.input.amount}}; with “is computed by an expression”, JavaScript such as ctx.input.amount > 10',
  }),
  operator: Operator.meta({
    title: 'Operator',
    description: 'How they are compared. Where both are numbers, “greater” and “less” go by their size',
  }),
  rightValue: Json.optional().meta({
    title: 'Compared with',
    description:
      'A text, or a number such as 500, both without quotation marks, or an expression; nothing where the operator needs none',
  }),
});
export type Comparison = z.infer<typeof Comparison>;

export const Logic = namedEnum({ AND: 'All conditions hold', OR: 'One of the conditions holds' })
  .default('AND')
  .meta({ title: 'It is taken if', description: 'Where there are several conditions' });

export const Branch = z.object({
  conditions: z.array(Comparison).min(1).meta({ title: 'Conditions', description: 'Comparisons of two values each' }),
  conditionLogic: Logic,
  label: z.string().optional().meta({ title: 'Label', description: 'Name of the branch on the canvas' }),
  id: z.string().min(1).meta({ title: 'Exit', description: 'A short name that no other branch has' }),
  name: z
    .string()
    .optional()
    .meta({ title: 'Name', description: 'Another name of the branch in the editor', deprecated: true }),
});
export type Branch = z.infer<typeof Branch>;

/** The fields of a saved config in which an expression may be found. Other fields are not checked here: they may have templates. */
const Expressions = z.object({
  branches: z.array(z.object({ conditions: z.array(z.object({ operator: Operator, leftValue: z.unknown() })) })),
});

/** Leaves by the first branch that holds, else by `defaultBranch`. */
export const condition = defineNode({
  kind: 'condition',
  label: 'Condition',
  config: z
    .object({
      ...working,
      branches: z
        .array(Branch)
        .min(1)
        .meta({ title: 'Branches', description: 'In this order; the first that holds is taken' }),
      defaultBranch: z
        .string()
        .min(1)
        .default('default')
        .meta({ title: 'Default exit', description: 'Taken if no branch holds' }),
      evaluationMode: z
        .literal('first_match')
        .default('first_match')
        .meta({ title: 'Evaluation', description: 'The first branch that holds is taken' }),
    })
    .refine(({ branches }) => new Set(branches.map((branch) => branch.id)).size === branches.length, {
      path: ['branches'],
      message: 'branch ids must be unique',
    }),
  names: {},
  exits: exitsByConfig.condition,
  usualExit: ({ defaultBranch }) => defaultBranch,
  elseExit: elseExitByConfig.condition,
  pure: ({ branches }) => branches.every(({ conditions }) => conditions.every(({ operator }) => isPlain(operator))),
  clocked: false,
  snippets(config) {
    // `safeParse` would write a message for each fault, of which a config may have a million.
    const parsed = parseValue(Expressions, config);
    const branches = parsed.success ? parsed.data.branches : [];
    return branches.flatMap(({ conditions }, branch) =>
      conditions.flatMap(({ operator, leftValue }, at) => {
        // A template is replaced before the expression is compiled.
        if (operator !== 'expression' || typeof leftValue !== 'string' || findTemplate(leftValue)) return [];
        return [
          { path: ['branches', branch, 'conditions', at, 'leftValue'], text: leftValue, form: 'expression' as const },
        ];
      }),
    );
  },
  timeoutSeconds: 60,
  defaultValue: {
    title: 'Condition',
    branches: [
      { id: 'yes', conditions: [{ operator: 'equals', leftValue: '{{ctx.input.value}}', rightValue: 'yes' }] },
    ],
  },
});
