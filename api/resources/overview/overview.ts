import { type FilterQuery, raw } from '@mikro-orm/postgresql';
import { z } from 'zod';
import type { Pool } from '#shared/db/pool.ts';
import { CollectionRequest } from '#shared/entities/tables/collection-request.ts';
import { CronJob } from '#shared/entities/tables/cron-job.ts';
import { Listener } from '#shared/entities/tables/listener.ts';
import { ListenerEvent } from '#shared/entities/tables/listener-event.ts';
import { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import { readHold } from '#shared/process/restore-hold.ts';
import { tenantRoute } from '../../context/routes.ts';
import type { TenantInput } from '../../http/route/input.ts';
import { answerableBy } from '../../questions/answerable-requests.ts';
import { amongNewest } from '../../runs/among-newest.ts';
import type { PausedQueues } from '../../runs/paused-queues.ts';
import { findPaused } from './find-paused.ts';
import { findTitles } from './find-titles.ts';
import { MAX_COUNTED, MAX_SHOWN, Overview } from './schemas.ts';

type Input = Pick<
  TenantInput<z.ZodUndefined, z.ZodUndefined, z.ZodUndefined>,
  'em' | 'tenantID' | 'visible' | 'scopeOf' | 'identity'
>;
type Status = WorkflowInstance['status'];

export const getOverview = tenantRoute({
  name: 'getOverview',
  method: 'get',
  path: '/overview',
  summary: 'Get what needs attention',
  description:
    'Returns the state of a tenant for a start page: questions, runs, dead letters, and what has stopped, as far as the caller may see them. It looks at the newest 1,000 of each. Every member may ask.',
  forMembers: true,
  response: Overview,

  handle: (input, { pool, runs: { pausedQueues } }) => readOverview(input, { pool, pausedQueues }),
});

export async function readOverview(
  input: Input,
  { pool, pausedQueues }: { pool: Pool; pausedQueues: PausedQueues },
): Promise<z.input<typeof Overview>> {
  const { scopeOf } = input;
  const readsRuns = (await scopeOf('workflow.read')) !== 'none';
  const readsListeners = (await scopeOf('listener.read')) !== 'none';
  return {
    restoredFrom: (await readHold(pool))?.snapshotAt.toISOString() ?? null,
    questions: (await scopeOf('workflow.execute')) === 'none' ? null : await findQuestions(input),
    runs: readsRuns ? await findAllRuns(input) : null,
    paused: readsRuns ? await findPaused(input, pausedQueues) : null,
    deadLetters: readsListeners ? await findDeadLetters(input) : null,
    stoppedCronJobs: (await scopeOf('cronjob.read')) === 'none' ? null : await findStoppedCronJobs(input),
    stoppedListeners: readsListeners ? await findStoppedListeners(input) : null,
  };
}

/** Rows that are searched in each state. Of the matches one more than is counted is read, to know whether there are more. */
const MAX_LOOKED_AT = 1_000;
const limit = MAX_COUNTED + 1;
const newestFirst = [{ createdAt: 'desc' as const }, { id: 'desc' as const }];

function counted(rows: readonly unknown[]) {
  return bounded(rows.length);
}

function bounded(count: number) {
  return { count: Math.min(count, MAX_COUNTED), isMore: count > MAX_COUNTED };
}

function aDayAgo(): Date {
  return new Date(Date.now() - 86_400_000);
}

/** A run that was run again is told by its repetition, in whichever state that is. */
function notRepeated(): FilterQuery<WorkflowInstance> {
  const fragment = raw((run) => `not exists (select from workflow_instance again where again.rerun_of = ${run}.id)`);
  return { [fragment.key]: [] };
}

async function findAllRuns(input: Input) {
  return {
    failed: await findRuns(input, 'FAILED', { $and: [{ createdAt: { $gte: aDayAgo() } }, notRepeated()] }),
    running: await findRuns(input, 'RUNNING'),
    waiting: await findRuns(input, 'WAITING'),
    pending: await findRuns(input, 'PENDING'),
  };
}

async function findRuns({ em, tenantID, visible }: Input, status: Status, more: FilterQuery<WorkflowInstance> = {}) {
  const newest = amongNewest({ table: 'workflow_instance', tenantID, status, max: MAX_LOOKED_AT });
  // Chunks of maps are left out, because they are parts of their runs.
  const where = { $and: [{ status, mapID: null }, newest, more, await visible('workflow.read', 'workflow_id')] };
  const fields = ['id', 'workflowID', 'createdAt'] as const;
  const rows = await em.find(WorkflowInstance, where, { fields, orderBy: newestFirst, limit });
  const shown = rows.slice(0, MAX_SHOWN);
  const titles = await findTitles(em, shown);
  return {
    ...counted(rows),
    newest: shown.map(({ id, workflowID, createdAt }) => ({
      instanceID: id,
      workflowID: workflowID ?? null,
      workflowTitle: titles.get(workflowID ?? '') ?? null,
      createdAt: createdAt.toISOString(),
    })),
  };
}

const Question = z.object({
  id: z.uuid(),
  instance_id: z.uuid(),
  node_id: z.string(),
  title: z.string().nullable(),
  at: z.string(),
});

/** Reads only the titles of the forms, because forms are large. */
async function findQuestions({ em, tenantID, visible, identity }: Input) {
  const newest = amongNewest({ table: 'collection_request', tenantID, status: 'PENDING', max: MAX_LOOKED_AT });
  const visibly = await visible('workflow.execute', 'workflow_id');
  const where = { $and: [{ status: 'PENDING' }, newest, visibly, await answerableBy(em, { tenantID, identity })] };
  const select = em.createQueryBuilder(CollectionRequest, 'asked');
  const title = raw(
    "case when jsonb_typeof(asked.collection_config->'title') = 'string' then asked.collection_config->>'title' end as title",
  );
  // Safe: the columns are those of the table, and the driver answers with them.
  select.select(['id', 'instance_id', 'node_id', title, raw('asked.created_at::text as at')] as never);
  select.where(where as never);
  await select.applyFilters();
  const found = await select
    .orderBy(newestFirst as never)
    .limit(limit)
    .execute('all', false);
  const rows = z.array(Question).parse(found);
  return {
    ...counted(rows),
    newest: rows.slice(0, MAX_SHOWN).map((row) => ({
      ...{ collectionRequestID: row.id, instanceID: row.instance_id, nodeID: row.node_id },
      title: row.title === '' ? null : row.title,
      createdAt: new Date(row.at).toISOString(),
    })),
  };
}

const LettersOfListener = z.object({ listener_id: z.uuid(), count: z.int() });

async function findDeadLetters({ em, tenantID, visible }: Input) {
  const newest = raw(
    (row) =>
      `${row}.id in (select id from listener_event where tenant_id = ?::uuid and state = 'dead' order by id desc limit ${MAX_LOOKED_AT})`,
    [tenantID],
  );
  const where = {
    $and: [
      { state: 'dead' as const, finishedAt: { $gte: aDayAgo() } },
      { [newest.key]: [] },
      await visible('listener.read', 'listener_id'),
    ],
  };
  const select = em.createQueryBuilder(ListenerEvent, 'event');
  // Safe: the columns are those of the table, and the driver answers with them.
  select.select([raw('event.listener_id'), raw('count(*)::int as count')] as never);
  select.where(where as never);
  await select.applyFilters();
  const rows = z.array(LettersOfListener).parse(await select.groupBy(raw('event.listener_id')).execute('all', false));
  const most = rows.toSorted((one, other) => other.count - one.count).slice(0, MAX_SHOWN);
  const ids = most.map((row) => row.listener_id);
  const titled = await em.find(Listener, { id: { $in: ids } }, { fields: ['listenerTitle'] });
  const titles = new Map(titled.map(({ id, listenerTitle }) => [id, listenerTitle]));
  return {
    ...bounded(rows.reduce((sum, { count }) => sum + count, 0)),
    listeners: most.flatMap(({ listener_id: id, count }) => {
      const title = titles.get(id);
      return title === undefined ? [] : { id, title, ...bounded(count) };
    }),
  };
}

async function findStoppedCronJobs({ em, tenantID, visible }: Input) {
  const newest = amongNewest({ table: 'cron_job', tenantID, max: MAX_LOOKED_AT });
  const where = { $and: [newest, { stoppedAt: { $ne: null } }, await visible('cronjob.read')] };
  const fields = ['id', 'cronJobTitle', 'stopReason'] as const;
  const rows = await em.find(CronJob, where, { fields, orderBy: newestFirst, limit });
  const shown = rows.slice(0, MAX_SHOWN);
  return {
    ...counted(rows),
    newest: shown.map(({ id, cronJobTitle, stopReason }) => ({ id, title: cronJobTitle, reason: stopReason ?? null })),
  };
}

async function findStoppedListeners({ em, tenantID, visible }: Input) {
  const newest = amongNewest({ table: 'listener', tenantID, max: MAX_LOOKED_AT });
  const where = { $and: [newest, { status: 'error' as const }, await visible('listener.read')] };
  const fields = ['id', 'listenerTitle', 'lastError'] as const;
  const rows = await em.find(Listener, where, { fields, orderBy: newestFirst, limit });
  const shown = rows.slice(0, MAX_SHOWN);
  return {
    ...counted(rows),
    newest: shown.map(({ id, listenerTitle, lastError }) => ({ id, title: listenerTitle, reason: lastError ?? null })),
  };
}
