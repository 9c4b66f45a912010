import { z } from 'zod';
import { IterationPath } from '#shared/workflow/progress/iteration-path.ts';
import { VersionInBody } from '../../../http/fields/version-name.ts';
import { argsOf, runInputs } from '../../../runs/run-inputs.ts';
import { Tags } from '../../../runs/run-schemas.ts';
import { exampleRerun, exampleRerunAnswer, exampleRerunPreview } from '../examples.ts';

const FromNode = z
  .object({
    nodeID: z.string().min(1).max(255),
    frame: IterationPath.optional().describe('Must be empty: a loop is executed again as a whole'),
  })
  .meta({ id: 'RerunFromNode', examples: [{ nodeID: 'order' }] });

export const RerunFrom = z
  .union([z.enum(['start', 'failed']), FromNode])
  .describe(
    '`failed`: at the node that failed, or where the run was interrupted. A node: there, with everything behind it',
  );

export const RerunVersion = z
  .union([z.enum(['original', 'published']), VersionInBody])
  .describe('`original`: that of the run; or the id or the number of a version');

export const Rerun = z
  .object({
    from: RerunFrom.default('start'),
    version: RerunVersion.default('original'),
    ...runInputs,
    tags: Tags.optional().describe('Instead of those of the run'),
  })
  .optional()
  .transform((body, check) => ({
    from: body?.from ?? 'start',
    version: body?.version ?? 'original',
    args: argsOf(body, check),
    tags: body?.tags && [...new Set(body.tags)],
  }))
  .meta({ id: 'WorkflowRerun', examples: [exampleRerun] });

export const RerunAnswer = z
  .object({
    instanceID: z.uuid(),
    rerunOf: z.uuid(),
    reused: z.array(z.string()).describe('Nodes whose results were taken over, in the order in which they ended'),
    changed: z
      .array(z.string())
      .describe('Nodes that are executed because they, or nodes before them, differ from those of the run'),
  })
  .meta({ id: 'WorkflowRerunAnswer', examples: [exampleRerunAnswer] });

export const RerunPreview = RerunAnswer.pick({ reused: true, changed: true })
  .extend({
    executed: z
      .array(z.string())
      .describe('Nodes that are executed if the branches of the new run lead to them; `changed` is a part of them'),
    versionID: z.uuid().describe('The version that would be executed'),
    versionNumber: z.int().nullable(),
  })
  .meta({ id: 'WorkflowRerunPreview', examples: [exampleRerunPreview] });
