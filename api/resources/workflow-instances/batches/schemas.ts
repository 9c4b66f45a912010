import { z } from 'zod';
import { idOf } from '#shared/core/schema/reference.ts';
import { pageFields, pageQuery, standardPage } from '../../../http/fields/paging.ts';
import { Label, Stored } from '../../../runs/run-schemas.ts';
import { exampleBatch, exampleCancelMany, exampleRerunMany } from '../examples.ts';
import { RerunFrom, RerunVersion } from '../rerun/schemas.ts';
import { InstanceFilter } from '../schemas.ts';

export const BatchID = z.object({ batchID: idOf('batch') });

/** Runs of one status that a list counts at most. One request starts no more runs than this. */
export const MAX_COUNTED = 1_000;

export const BatchList = z.object({ ...pageQuery(standardPage), workflowID: idOf('workflow').optional() });

export const RerunMany = z
  .object({
    filter: InstanceFilter,
    from: RerunFrom.default('failed'),
    version: RerunVersion.default('original'),
    label: Label.optional(),
  })
  .meta({ id: 'WorkflowRerunMany', examples: [exampleRerunMany] });

export const CancelMany = z
  .object({ filter: InstanceFilter, label: Label.optional() })
  .meta({ id: 'WorkflowCancelMany', examples: [exampleCancelMany] });

export const Batch = z
  .object({
    batchID: z.uuid(),
    workflowID: z.uuid().nullable().describe('Null if its runs may be of several workflows'),
    kind: z.enum(['execute', 'rerun', 'cancel']),
    label: z.string().nullable(),
    total: z.int().describe('Runs that were accepted for it, or cancelled by it'),
    refused: z.int(),
    filter: Stored.nullable().describe('Which runs are re-run or cancelled'),
    lookedAt: z.int().describe('Runs that the filter has found so far'),
    filledAt: z.iso.datetime().nullable().describe('When a worker had looked at all of them'),
    lastError: z.string().nullable().describe('Why the last of the refused runs was refused'),
    creatorID: z.uuid(),
    createdByApiKeyID: z.uuid().nullable(),
    createdAt: z.iso.datetime(),
    cancelledAt: z.iso.datetime().nullable(),
    cancelledBy: z.uuid().nullable(),
    status: z
      .enum(['FILLING', 'RUNNING', 'COMPLETED', 'CANCELLED'])
      .describe('`FILLING`: a worker looks for its runs; `COMPLETED`: every run has ended, in any way'),
    counts: z
      .object({
        PENDING: z.int(),
        RUNNING: z.int(),
        WAITING: z.int(),
        COMPLETED: z.int(),
        FAILED: z.int(),
        CANCELLED: z.int(),
      })
      .meta({ id: 'RunCounts', description: 'Runs by status, without those that retention has deleted' }),
  })
  .meta({ id: 'WorkflowBatch', examples: [exampleBatch] });

export const Batches = z
  .object({
    batches: z
      .array(Batch)
      .describe(
        `\`counts\` are exact up to ${MAX_COUNTED} of a status: ${MAX_COUNTED + 1} means more. A batch by its id has all`,
      ),
    ...pageFields,
  })
  .meta({ id: 'WorkflowBatchPage' });
