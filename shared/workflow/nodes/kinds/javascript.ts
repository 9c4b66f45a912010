import { z } from 'zod';
import { OutputVariable, working } from '../common.ts';
import { defineNode } from '../define-node.ts';

const Code = z.object({ code: z.string() });

/** A function body over `ctx`; what it returns is the node's value. */
export const javascript = defineNode({
  kind: 'javascript',
  label: 'JavaScript',
  config: z.object({
    ...working,
    code: z.string().min(1).max(200_000).meta({
      title: 'Code',
      description:
        'JavaScript that reads `ctx.input` and results such as `ctx.queryResult`, and ends with `return`: what it returns is the result',
      contentMediaType: 'text/javascript',
    }),
    outputVariable: OutputVariable('scriptResult'),
  }),
  names: {},
  exits: ['success', 'error'],
  usualExit: 'success',
  pure: false,
  clocked: false,
  raw: ['code'],
  snippets(config) {
    const { data } = Code.safeParse(config);
    return data ? [{ path: ['code'], text: data.code, form: 'body' }] : [];
  },
  timeoutSeconds: 30,
  defaultValue: { title: 'JavaScript', code: 'return ctx.input;', outputVariable: 'scriptResult' },
});
