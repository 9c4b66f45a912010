import { z } from 'zod';
import { working } from '../common.ts';
import { defineNode } from '../define-node.ts';
import { exitsByConfig } from '../exits.ts';

const FanoutBranch = z.object({
  id: z.string().min(1).meta({ title: 'Exit', description: 'The exit of the branch, which its edge names' }),
  name: z.string().optional().meta({ title: 'Name', description: 'Name of the branch in the editor' }),
});

/** Begins every branch at once. */
export const fanout = defineNode({
  kind: 'fanout',
  label: 'Fan out',
  config: z
    .object({
      ...working,
      branches: z
        .array(FanoutBranch)
        .min(1)
        .max(1000)
        .meta({ title: 'Branches', description: 'All of them begin at once' }),
    })
    .refine(({ branches }) => new Set(branches.map(({ id }) => id)).size === branches.length, {
      path: ['branches'],
      message: 'branch ids must be unique',
    }),
  names: {},
  exits: exitsByConfig.fanout,
  usualExit: 'output',
  forks: true,
  pure: true,
  clocked: false,
  timeoutSeconds: 30,
  defaultValue: {
    title: 'Fan out',
    branches: [
      { id: 'first', name: 'First' },
      { id: 'second', name: 'Second' },
    ],
  },
});
