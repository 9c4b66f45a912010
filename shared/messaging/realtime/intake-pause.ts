import { z } from 'zod';

/** Channel that tells every API process when the intake of a workflow or a tenant is paused or resumed. */
export const INTAKE_PAUSE_CHANNEL = 'intake';

/** Sent to the tenant's room as `workflow_intake_update`. A lost one changes nothing: the workflow and the tenant say the same. */
export const IntakePauseUpdate = z.object({
  tenantID: z.uuid(),
  workflowID: z.uuid().nullable().describe('Null: the intake of the whole tenant'),
  pausedAt: z.iso.datetime().nullable(),
});
export type IntakePauseUpdate = z.infer<typeof IntakePauseUpdate>;
