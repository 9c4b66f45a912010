import { z } from 'zod';
import { OutputVariable, working } from '../common.ts';
import { defineNode } from '../define-node.ts';

const Sources = z.object({ sourceVariables: z.array(z.string()).default([]) });

/** Collects what the branches before it have put into `ctx`. As for every kind, `joinMode` says for which branches it waits. */
export const join = defineNode({
  kind: 'join',
  label: 'Join',
  config: z.object({
    ...working,
    sourceVariables: z.array(z.string().min(1).max(255)).max(1000).default([]).meta({
      title: 'Results to collect',
      description: 'Result names of steps before this one, such as queryResult',
    }),
    outputVariable: OutputVariable('joined'),
    requireAll: z
      .boolean()
      .default(true)
      .meta({ title: 'All required', description: 'The step fails if a result is missing' }),
  }),
  names: {},
  exits: ['output', 'error'],
  usualExit: 'output',
  pure: true,
  clocked: false,
  reads(config) {
    const { data } = Sources.safeParse(config);
    return data && !data.sourceVariables.some((name) => name.includes('{{')) ? data.sourceVariables : null;
  },
  timeoutSeconds: 30,
  defaultValue: { title: 'Join', sourceVariables: [], outputVariable: 'joined' },
});
