import { z } from 'zod';
import { NumberText } from '#shared/core/schema/number-text.ts';
import { VersionName } from '../../../http/fields/version-name.ts';
import { exampleRunInputs } from '../../../runs/examples.ts';
import { argsOf, runInputs } from '../../../runs/run-inputs.ts';
import { governed, RunError, Status } from '../../../runs/run-schemas.ts';
import { exampleExecution } from './examples.ts';

/** An empty body starts a run without inputs. */
export const WorkflowExecute = z
  .object({ ...runInputs, ...governed })
  .optional()
  .transform((body, check) => ({
    args: argsOf(body, check) ?? {},
    tags: [...new Set(body?.tags)],
    startAt: body?.startAt,
    class: body?.class,
    priority: body?.priority,
  }))
  .meta({ id: 'WorkflowExecute', examples: [exampleRunInputs] });

export const ExecuteQuery = z.object({
  wait: NumberText(z.number().min(0).max(60)).prefault(0).describe('How many seconds to wait for the result'),
  version: VersionName.optional().describe(
    'The id or the number of a version; without it, the published one is executed',
  ),
});

export const Execution = z
  .object({
    instanceID: z.uuid(),
    status: Status.optional().describe('With `wait`, if the run ended in time'),
    output: z.unknown().optional(),
    error: RunError.nullish(),
  })
  .meta({ id: 'WorkflowExecution', examples: [exampleExecution] });
