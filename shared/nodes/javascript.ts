import { z } from 'zod';
import { Identifier, working } from './common.ts';
import { defineNode } from './define-node.ts';

/** A function body over `ctx`; what it returns is the node's value. */
export const javascript = defineNode({
  kind: 'javascript',
  label: 'JavaScript',
  config: z.object({
    ...working,
    code: z.string().min(1).max(200_000),
    outputVariable: Identifier.default('scriptResult'),
  }),
  names: {},
  exits: ['success', 'error'],
  usualExit: 'success',
  pure: false,
  clocked: false,
  raw: ['code'],
  timeoutSeconds: 30,
  defaultValue: { title: 'JavaScript', code: 'return ctx.input;', outputVariable: 'scriptResult' },
});
