import { z } from 'zod';
import { RunStatus } from '../../workflow/progress/status.ts';

/** Limit of concurrent changes that a socket gets as single events. More become one event without ids: the client reads its list again. */
export const AT_ONCE = 50;

const many = 'Null: so many have changed that the list is to be read again';

/** Sent to `tenant:<tenantID>` as `workflow_run_changed`, to those who may read the run. */
export const RunChange = z.object({
  tenantID: z.uuid(),
  instanceID: z.uuid().nullable().describe(many),
  workflowID: z.uuid().nullable().describe('Null also for a run of a graph that was not saved'),
  status: RunStatus.nullable(),
  errorCode: z.string().nullable(),
  at: z.iso.datetime(),
});
export type RunChange = z.infer<typeof RunChange>;

/** Sent to `tenant:<tenantID>` as `workflow_data_collection_changed`, to those who may answer the question. */
export const QuestionChange = z.object({
  tenantID: z.uuid(),
  collectionRequestID: z.uuid().nullable().describe(many),
  instanceID: z.uuid().nullable(),
  workflowID: z.uuid().nullable().describe('Null also for a run of a graph that was not saved'),
  status: z.enum(['PENDING', 'COMPLETED', 'EXPIRED', 'CANCELLED']).nullable(),
  at: z.iso.datetime(),
});
export type QuestionChange = z.infer<typeof QuestionChange>;
