import { z } from 'zod';
import { recordOf } from '#shared/core/record.ts';
import { Moment } from '#shared/core/schema/moment.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { Priority, RunClass } from '#shared/workflow/limits.ts';
import { NodeStatus, RunStatus } from '#shared/workflow/progress/status.ts';
import { moreOfRunError } from '#shared/workflow/run-error.ts';
import { WorkError } from '../http/fields/response-parts.ts';

export const InstanceID = z.object({ instanceID: idOf('run') });

export const Status = RunStatus.meta({ id: 'RunStatus' });

export const StatusOfNode = NodeStatus.meta({ id: 'NodeStatus' });

/** Stored JSON is not validated again: it was validated before it was stored. */
export const Stored = recordOf(z.unknown());

export const Tag = z.string().trim().min(1).max(64);

export const Tags = z.array(Tag).max(10);

const YEAR_MS = 366 * 86_400_000;

export const governed = {
  tags: Tags.default([]).describe('Lists of runs can be filtered by them'),
  startAt: Moment.refine((at) => at.getTime() <= Date.now() + YEAR_MS, { message: 'must be within a year from now' })
    .optional()
    .describe('When the run begins; at once if that has passed'),
  class: RunClass.optional().describe(
    'By default that of the workflow, else `batch` for an API key and `interactive` for a user',
  ),
  priority: Priority.optional().describe('Seconds of head start over other runs of the same workflow and class'),
};

export const RunError = WorkError.extend({
  nodeID: z.string().nullable(),
  attempt: z.int().nullable(),
  ...moreOfRunError,
}).meta({
  id: 'RunError',
  examples: [{ code: 'NODE_TIMEOUT', message: 'The node took longer than 60 s', nodeID: 'order', attempt: 1 }],
});

export const Label = z.string().trim().min(1).max(255);

export const WorkflowID = z.object({ workflowID: idOf('workflow') });
