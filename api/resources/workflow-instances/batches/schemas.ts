import { z } from 'zod';
import { JsonObject } from '#shared/core/json.ts';
import { readBy } from '#shared/core/schema/walk.ts';
import { WorkError } from '../../../http/answer-parts.ts';
import { ID } from '../../../http/id.ts';
import { pageFields, pageQuery, standardPage } from '../../../http/paging.ts';
import { VersionName } from '../../../http/version-name.ts';
import { argsOf, runInputs } from '../../../runs/run-inputs.ts';
import { governed, InstanceFilter, Stored } from '../../../runs/run-schemas.ts';
import {
  exampleBatch,
  exampleBulk,
  exampleBulkAnswer,
  exampleCancelMany,
  exampleRerunMany,
} from '../../workflows/examples.ts';
import { RerunFrom, RerunVersion } from '../rerun/schemas.ts';

export const BatchID = z.object({ batchID: ID });

/** What an item is parsed with, each for itself: one that is wrong does not fail the others. */
export const BulkItem = z
  .object({
    ...runInputs,
    ...governed,
    idempotencyKey: z
      .string()
      .min(1)
      .max(255)
      .optional()
      .describe(
        'Another item with this key, in this request or in a later one, starts no other run; kept for 24 hours',
      ),
  })
  .transform((item, check) => ({ ...item, args: argsOf(item, check) }));

/** Without the definitions, which the document has in one place for all schemas. */
const { $schema: _, $defs: __, ...itemInDocument } = z.toJSONSchema(BulkItem, { io: 'input', unrepresentable: 'any' });

const GivenItem = readBy(z.unknown().meta({ id: 'WorkflowBulkItem', ...itemInDocument }), () => BulkItem);

const Label = z.string().trim().min(1).max(255);

export const WorkflowBulk = z
  .object({
    items: z.array(GivenItem).min(1).max(1_000).describe('One run each'),
    label: Label.optional().describe('Shown with the batch'),
  })
  .meta({ id: 'WorkflowBulk', examples: [exampleBulk] });

export const BulkQuery = z.object({
  version: VersionName.optional().describe(
    'The id or the number of a version; without it, the published one is executed',
  ),
});

const ItemError = WorkError.extend({ details: JsonObject.nullable() }).meta({
  id: 'WorkflowBulkError',
  examples: [{ code: 'VALIDATION_ERROR', message: 'items.1.tags: expected a list, received "north"', details: null }],
});

const ItemAnswer = z
  .object({
    instanceID: z.uuid().nullable(),
    isReplay: z.boolean().describe('The run was started by an earlier item with this key'),
    error: ItemError.nullable(),
  })
  .meta({ id: 'WorkflowBulkOutcome' });

export const BulkAnswer = z
  .object({
    batchID: z.uuid(),
    accepted: z.int(),
    replayed: z.int(),
    refused: z.int(),
    items: z.array(ItemAnswer).describe('In the order of the request'),
  })
  .meta({ id: 'WorkflowBulkAnswer', examples: [exampleBulkAnswer] });

/** Runs of one status that a list counts. One request starts no more. */
export const MAX_COUNTED = 1_000;

export const BatchList = z.object({ ...pageQuery(standardPage), workflowID: ID.optional() });

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
