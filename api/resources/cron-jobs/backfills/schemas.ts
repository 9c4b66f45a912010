import { z } from 'zod';
import { Moment } from '#shared/core/schema/moment.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { pageFields, pageQuery, standardPage } from '../../../http/fields/paging.ts';
import { Message } from '../../../http/fields/response-parts.ts';
import { exampleBackfill, exampleBackfillCreate } from '../examples.ts';

export const BackfillID = z.object({ cronJobID: idOf('cronJob'), backfillID: idOf('backfill') });

export const BackfillList = z.object(pageQuery(standardPage));

export const BackfillCreate = z
  .object({
    from: Moment.describe('The first moment'),
    to: Moment.optional().describe('The last moment; now, if it is left out'),
  })
  .meta({ id: 'CronBackfillCreate', examples: [exampleBackfillCreate] });

export const Backfill = z
  .object({
    id: z.uuid(),
    backfillID: z.uuid(),
    cronJobID: z.uuid(),
    from: z.iso.datetime(),
    to: z.iso.datetime(),
    status: z
      .enum(['FILLING', 'RUNNING', 'COMPLETED', 'CANCELLED'])
      .describe('`FILLING`: a worker looks for its ticks; `COMPLETED`: the work of each has ended, in any way'),
    total: z.int().describe('Ticks that it has found so far'),
    leftOut: z.int().describe('Ticks that had been started before'),
    isCut: z.boolean().describe('There are more ticks than the 1,000 of a backfill'),
    counts: z
      .object({ SCHEDULED: z.int(), SUCCESS: z.int(), FAILURE: z.int() })
      .meta({ id: 'CronTickCounts', description: 'Its ticks by their status' }),
    filledAt: z.iso.datetime().nullable(),
    cancelledAt: z.iso.datetime().nullable(),
    cancelledBy: z.uuid().nullable(),
    creatorID: z.uuid(),
    createdByApiKeyID: z.uuid().nullable(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'CronBackfill', examples: [exampleBackfill] });

export const Backfills = z.object({ backfills: z.array(Backfill), ...pageFields }).meta({ id: 'CronBackfillPage' });

export const OneBackfill = z.object({ backfill: Backfill, message: Message });
