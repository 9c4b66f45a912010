import { z } from 'zod';
import { JsonObject } from '#shared/core/json.ts';
import { NumberText } from '#shared/core/schema/number-text.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { RunStatus } from '#shared/workflow/progress/status.ts';
import { exampleIDs } from '../../http/fields/example-ids.ts';
import type { FieldAliases } from '../../http/fields/field-aliases.ts';
import { WorkError } from '../../http/fields/response-parts.ts';
import { argsOf } from '../../runs/run-inputs.ts';

const Alias = z.string().min(1).max(255);
export const QueryAlias = z.object({ appPageID: idOf('appPage'), queryAlias: Alias });
export const WorkflowAlias = z.object({ appPageID: idOf('appPage'), workflowAlias: Alias });

/** An empty body sets no parameter. */
export const PageInputs = z
  .object({
    inputValues: JsonObject.optional().describe(
      'The values of the templates among the parameters that the page declares',
    ),
    args: JsonObject.optional().describe('Another name for `inputValues`'),
  })
  .optional()
  .transform((body, check) => argsOf(body, check) ?? {})
  .meta({ id: 'AppPageInputs', examples: [{ inputValues: { day: '2026-03-02' } }] });

export const runAliases: FieldAliases = { inputValues: ['inputValues', 'args'] };

export const WaitQuery = z.object({
  wait: NumberText(z.number().min(0).max(60)).prefault(0).describe('How many seconds to wait for the result'),
});

const exampleExecution = { instanceID: exampleIDs.instanceID, status: 'COMPLETED', output: { sent: 3 }, error: null };

export const PageExecution = z
  .object({
    instanceID: z.uuid(),
    status: RunStatus.meta({ id: 'RunStatus' }).optional().describe('With `wait`, if the run ended in time'),
    output: z.unknown().optional(),
    error: WorkError.nullish(),
  })
  .meta({ id: 'AppPageExecution', examples: [exampleExecution] });
