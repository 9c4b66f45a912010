import { z } from 'zod';
import { NumberText } from '#shared/core/schema/number-text.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { IterationPath } from '#shared/workflow/progress/iteration-path.ts';
import { Status } from '../../../runs/run-schemas.ts';
import { exampleMapChunk } from '../examples.ts';

export const MapID = z.object({ instanceID: idOf('run'), mapID: idOf('map') });

export const MapChunkList = z.object({
  item: NumberText(z.int().min(0).max(Number.MAX_SAFE_INTEGER)).optional().describe('The chunk that has this item'),
  failed: z.literal('true').optional().describe('Chunks with failed items alone'),
  limit: NumberText(z.int().min(1).max(100)).prefault(20),
  cursor: NumberText(
    z
      .int()
      .min(0)
      .max(2 ** 31 - 1),
  )
    .prefault(0)
    .describe('The `nextCursor` of the page before'),
});

const MapChunk = z
  .object({
    first: z.int().describe('The index of its first item in the list of the map'),
    size: z.int().describe('How many items it has'),
    instanceID: z.uuid().nullable().describe('The run that works them off; null before it is started'),
    status: Status.nullable(),
    failed: z.int().nullable().describe('How many of its items have failed; null before it has ended'),
    failedStep: z
      .object({ nodeID: z.string(), frame: IterationPath })
      .meta({ id: 'WorkflowFailedStep' })
      .nullable()
      .describe('With `failed`: the first step of its run that has failed within an item'),
  })
  .meta({ id: 'WorkflowMapChunk', examples: [exampleMapChunk] });

export const MapChunks = z
  .object({ chunks: z.array(MapChunk), nextCursor: z.string().nullable().describe('For `cursor`; null at the end') })
  .meta({ id: 'WorkflowMapChunkPage' });
