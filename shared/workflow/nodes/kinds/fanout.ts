import { z } from 'zod';
import { working } from '../common.ts';
import { defineNode } from '../define-node.ts';
import { exitsByConfig } from '../exits.ts';

const FanoutBranch = z.object({
  id: z.string().min(1).meta({ title: 'Exit', description: 'A short name: by it the branch is connected' }),
  name: z.string().optional().meta({ title: 'Name', description: 'Name of the branch on the canvas' }),
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
