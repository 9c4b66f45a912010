import { z } from 'zod';
import { JsonObject } from '#shared/core/json.ts';
import { readBy } from '#shared/core/schema/walk.ts';
import { WorkError } from '../../../http/fields/response-parts.ts';
import { VersionName } from '../../../http/fields/version-name.ts';
import { argsOf, runInputs } from '../../../runs/run-inputs.ts';
import { governed, Label } from '../../../runs/run-schemas.ts';
import { exampleBulk, exampleBulkAnswer } from './examples.ts';

/** The schema of one item. Each is parsed by itself: one that is wrong does not fail the others. */
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

/** The JSON Schema of an item without its definitions, which the document has in one place for all schemas. */
const { $schema: _, $defs: __, ...itemInDocument } = z.toJSONSchema(BulkItem, { io: 'input', unrepresentable: 'any' });

const GivenItem = readBy(z.unknown().meta({ id: 'WorkflowBulkItem', ...itemInDocument }), () => BulkItem);

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
