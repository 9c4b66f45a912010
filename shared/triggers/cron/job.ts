import { z } from 'zod';
import { JsonObject } from '../../core/json.ts';
import { idOf } from '../../core/schema/reference.ts';

/** Policy for a tick that is due while the work of an earlier one goes on. */
export const OverlapPolicy = z.enum(['allow', 'skip', 'queue-one', 'cancel-old']);
export type OverlapPolicy = z.infer<typeof OverlapPolicy>;

/** Policy for ticks that were due while no worker could start them. */
export const MissedRunPolicy = z.enum(['skip', 'last', 'all']);
export type MissedRunPolicy = z.infer<typeof MissedRunPolicy>;

export const CronJobType = z.enum(['workflow', 'dataQuery']);
export type CronJobType = z.infer<typeof CronJobType>;

const inputValues = JsonObject.default({});

/** Config of each type of cron job, as it is stored. */
export const configs = {
  workflow: z.object({ workflowID: idOf('workflow'), inputValues }),
  dataQuery: z.object({ dataQueryID: idOf('dataQuery'), inputValues }),
} satisfies Record<CronJobType, z.ZodType>;

export interface CronTarget {
  permission: 'workflow.execute' | 'dataquery.execute';
  /** The target as rules name it: `workflow:<id>` or `dataquery:<id>`. */
  object: string;
  id: string;
  inputValues: JsonObject;
}

/** Target that a job executes, and the permission that it needs. The config was parsed when it was stored. */
export function targetOf(type: CronJobType, config: JsonObject): CronTarget {
  if (type === 'workflow') {
    const { workflowID: id, inputValues } = configs.workflow.parse(config);
    return { permission: 'workflow.execute', object: `workflow:${id}`, id, inputValues };
  }
  const { dataQueryID: id, inputValues } = configs.dataQuery.parse(config);
  return { permission: 'dataquery.execute', object: `dataquery:${id}`, id, inputValues };
}

export const TickStatus = z.enum(['SCHEDULED', 'SUCCESS', 'FAILURE']);
export type TickStatus = z.infer<typeof TickStatus>;

/** Why a tick is in the history. */
export const TriggerType = z.enum(['SCHEDULED', 'MANUAL', 'BACKFILL']);
export type TriggerType = z.infer<typeof TriggerType>;

/** Outcome of a tick. */
export const TickOutcome = z.enum(['fired', 'queued', 'caughtUp', 'skipped', 'missed', 'refused']);
export type TickOutcome = z.infer<typeof TickOutcome>;
