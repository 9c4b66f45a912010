import { z } from 'zod';
import { described } from '../common.ts';
import { defineNode } from '../define-node.ts';

/** The node at which a run begins. Inputs are declared in `workflowOptions.inputDefinitions`. */
export const start = defineNode({
  kind: 'start',
  label: 'Start',
  config: z.object({ ...described }),
  names: {},
  exits: ['output'],
  usualExit: 'output',
  begins: true,
  pure: true,
  clocked: false,
  timeoutSeconds: 60,
  defaultValue: { title: 'Start' },
});
