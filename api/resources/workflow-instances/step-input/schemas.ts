import { z } from 'zod';
import { quote } from '#shared/core/quote.ts';
import { NumberText } from '#shared/core/schema/number-text.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { IterationPath } from '#shared/workflow/progress/iteration-path.ts';
import { StatusOfNode, Stored } from '../../../runs/run-schemas.ts';
import { exampleStepInput } from '../examples.ts';
import { doubts } from './fill-settings.ts';

export const StepOfInstance = z.object({ instanceID: idOf('run'), nodeID: z.string().min(1).max(255) });

const Iterations = z
  .string()
  .max(200)
  .transform((text, check) => {
    if (/^\d{1,9}(?:\.\d{1,9})*$/.test(text)) return text.split('.').map(Number);
    check.addIssue({
      code: 'custom',
      message: `expected numbers with dots between them, as in 3.0, received ${quote(text)}`,
    });
    return z.NEVER;
  });

export const StepInputQuery = z.object({
  iterations: Iterations.optional().describe(
    'Of a node in a body: the indices of the iterations around it, outermost first, with dots between them. Without them, the iteration in which the node did something last',
  ),
  attempt: NumberText(
    z
      .int()
      .min(1)
      .max(2 ** 31 - 1),
  )
    .optional()
    .describe('Without it, the last one'),
});

const OmittedValue = z
  .object({
    key: z.string().describe('The key of `ctx`'),
    nodeID: z
      .string()
      .nullable()
      .describe('The node that has set it; null for the input of the run and what an iteration is given'),
    seq: z.int().nullable().describe('The event of that node in the timeline, which has its whole output'),
    length: z
      .int()
      .nullable()
      .describe('Characters of the JSON text of the value, or of the output that it is a part of; null if not known'),
    preview: z.string().nullable().describe('The first characters of that output, where they are known'),
  })
  .meta({ id: 'OmittedContextValue' });

const Doubt = z
  .object({
    path: z.array(z.union([z.string(), z.int()])).describe('Where the text stands in the settings'),
    reason: z
      .enum(doubts)
      .describe(
        '`notKept`: the text names a variable or a link, whose values are not kept with runs. `omitted`: it names a value that is left out here. `tooLong`: the answer has no room for it. Such a text stands as it was written. `plain`: the values are inserted as they are, and the step has encoded them for a URL or marked them as data',
      ),
  })
  .meta({
    id: 'StepSettingInDoubt',
    description: 'A text of the settings that is not, or not exactly, what the step worked with',
  });

const Settings = z
  .object({
    values: Stored.describe('With values in the place of templates. Code stands as it was written'),
    inDoubt: z.array(Doubt),
  })
  .meta({ id: 'StepSettings', description: 'The settings of a node, with its templates filled' });

export const StepInput = z
  .object({
    instanceID: z.uuid(),
    nodeID: z.string(),
    frame: IterationPath,
    attempt: z.int(),
    status: StatusOfNode,
    startedAt: z.iso.datetime(),
    reusedFrom: z
      .uuid()
      .optional()
      .describe('The run that computed the result: this one has taken it over, and did not execute the node'),
    isPinned: z
      .boolean()
      .optional()
      .describe('In a test run: the output was given with it, and the node was not executed'),
    settings: Settings.nullable().describe('Null for a caller who may not read the workflow'),
    ctx: Stored.describe('What templates and code could read, as the attempt began'),
    omitted: z.array(OmittedValue).describe('Keys of `ctx` that are left out, so that the answer is not too large'),
    mayLackKeys: z
      .boolean()
      .describe('Whether results that are left out may have set further keys, whose names are not known'),
  })
  .meta({ id: 'WorkflowStepInput', examples: [exampleStepInput] });
