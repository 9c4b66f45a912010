import type { FilterQuery } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { RunBatch } from '#shared/entities/tables/run-batch.ts';
import { countByStatus, countsOf, endCancelled, markCancelled } from '#shared/runs/batches/cancel.ts';
import type { BatchJob } from '#shared/runs/batches/job.ts';
import { tenantRoute } from '../../../context/routes.ts';
import { findPage } from '../../../http/fields/paging.ts';
import type { Access } from '../../../http/route/input.ts';
import { Batch, Batches, BatchID, BatchList, MAX_COUNTED } from './schemas.ts';

/** Pages of runs that are ended before the answer; a worker ends the other runs of a larger batch. */
const PAGES_AT_ONCE = 4;

export const batchRoutes = [
  tenantRoute({
    name: 'listWorkflowBatches',
    method: 'get',
    path: '/workflows/batches',
    summary: 'List batches of runs',
    description: 'Returns the batches of the workflows the caller may read, newest first.',
    permission: 'workflow.read',
    filter: true,
    query: BatchList,
    response: Batches,

    async handle({ query, em, visible }, { pool }) {
      const { workflowID } = query;
      const where: FilterQuery<RunBatch> = {
        $and: [await visible('workflow.read', 'workflow_id'), workflowID ? { workflowID } : {}],
      };
      const { rows, fields } = await findPage(em, RunBatch, { where, query, exclude: ['caller'] });
      const ids = rows.map(({ id }) => id);
      const counts = ids.length > 0 ? await countsOf(pool, ids, { max: MAX_COUNTED }) : new Map();
      return { batches: rows.map((batch) => presentCounted(batch, counts.get(batch.id) ?? {})), ...fields };
    },
  }),

  tenantRoute({
    name: 'getWorkflowBatch',
    method: 'get',
    path: '/workflows/batches/:batchID',
    summary: 'Get a batch of runs',
    description: 'Returns how many runs of a batch have which status. `GET …/instances?batch=` lists them.',
    permission: 'workflow.read',
    filter: true,
    params: BatchID,
    response: z.object({ batch: Batch }),

    async handle({ params, em, require }, { pool }) {
      const batch = await findBatch({ em, require, permission: 'workflow.read' }, params.batchID);
      return { batch: await presentProgress(pool, batch) };
    },
  }),

  tenantRoute({
    name: 'stopWorkflowBatch',
    method: 'delete',
    path: '/workflows/batches/:batchID/stop',
    summary: 'Stop a batch of runs',
    description:
      'Cancels the runs of a batch that have not ended, and the runs they started. Many are cancelled in the background.',
    permission: 'workflow.execute',
    filter: true,
    params: BatchID,
    response: z.object({ batch: Batch }),

    async handle({ params, em, require, tenantID, caller }, { pool, runs }) {
      const requester = { em, require, permission: 'workflow.execute' } as const;
      const batch = await findBatch(requester, params.batchID);
      const named = { tenantID, batchID: batch.id };
      await markCancelled(pool, { ...named, userID: caller.userID ?? caller.id });
      await endCancelled({ pool, runs }, { ...named, pages: PAGES_AT_ONCE });
      await em.refresh(batch);
      return { batch: await presentProgress(pool, batch) };
    },
  }),
];

interface Requester {
  em: EntityManager;
  require(access: readonly Access[]): Promise<void>;
  permission: 'workflow.read' | 'workflow.execute';
}

/**
 * Finds a batch. The permission is checked on its workflow, or on all workflows if it has runs of several, or does not
 * exist.
 */
async function findBatch({ em, require, permission }: Requester, batchID: string): Promise<RunBatch> {
  const batch = await em.findOne(RunBatch, { id: batchID });
  await require([{ permission, object: `workflow:${batch?.workflowID ?? '*'}` }]);
  if (!batch) throw new AppError('NOT_FOUND', 'Batch not found');
  return batch;
}

type Shown = Omit<RunBatch, 'caller'>;

function presentBatch(batch: Shown): Omit<z.input<typeof Batch>, 'status' | 'counts'> {
  return {
    batchID: batch.id,
    workflowID: batch.workflowID ?? null,
    kind: batch.kind,
    label: batch.label ?? null,
    total: batch.total,
    refused: batch.refused,
    filter: batch.asked ? presentFilter(batch.asked.filter) : null,
    lookedAt: batch.lookedAt,
    filledAt: batch.filledAt?.toISOString() ?? null,
    lastError: batch.lastError ?? null,
    creatorID: batch.creatorID,
    createdByApiKeyID: batch.createdByApiKeyID ?? null,
    createdAt: batch.createdAt.toISOString(),
    cancelledAt: batch.cancelledAt?.toISOString() ?? null,
    cancelledBy: batch.cancelledBy ?? null,
  };
}

/** The version is shown by its id. */
function presentFilter({ version, named, ...filter }: BatchJob['filter']): JsonObject {
  return JSON.parse(
    JSON.stringify({
      ...filter,
      ...(named && { search: named.search }),
      ...(version !== undefined && { version: version?.id ?? null }),
    }),
  );
}

export async function presentProgress(pool: Pool, batch: Shown): Promise<z.input<typeof Batch>> {
  return presentCounted(batch, await countByStatus(pool, batch.id));
}

function presentCounted(batch: Shown, found: Record<string, number>): z.input<typeof Batch> {
  const counts = { PENDING: 0, RUNNING: 0, WAITING: 0, COMPLETED: 0, FAILED: 0, CANCELLED: 0, ...found };
  const isOpen = counts.PENDING + counts.RUNNING + counts.WAITING > 0;
  const ended = batch.cancelledAt ? 'CANCELLED' : 'COMPLETED';
  const isFilling = batch.asked && !batch.filledAt && !batch.cancelledAt;
  const status = isOpen ? 'RUNNING' : ended;
  return { ...presentBatch(batch), status: isFilling ? 'FILLING' : status, counts };
}
