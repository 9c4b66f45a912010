import { inTransaction, type PoolClient } from '#shared/db/pool.ts';
import { BatchJob } from '#shared/runs/batches/job.ts';
import { roundRobinTenants } from '../../maintenance/round-robin.ts';
import {
  type Doing,
  type Filling,
  type FillNeeds,
  type Found,
  findPage,
  NOT_ALLOWED,
  ofPermitted,
  PAGE,
  type Page,
} from './page.ts';
import { rerunPage } from './rerun-page.ts';

/** Runs that one batch examines at most. */
const MAX_RUNS = 100_000;

/**
 * Fills a page of one batch. Tenants take turns; of a tenant, the batch is chosen that has waited longest. The runs of the page and the
 * cursor of the batch are written in one transaction, so an interrupted batch continues where it was and repeats nothing. Returns whether
 * there may be more to do at once.
 */
export function createBatchFilling(needs: FillNeeds): () => Promise<boolean> {
  const { pool, runs } = needs;
  return roundRobinTenants({
    pool,
    next: { name: 'next_batches', text: NEXT_TENANT },
    async work({ tenantID }) {
      const filled = await inTransaction(pool, (client) => fillOldest(needs, client, tenantID));
      if (filled && filled.done > 0) await runs.dispatchQueued().catch(() => undefined);
      return filled !== undefined && filled.found.length > 0;
    },
  });
}

async function fillOldest(needs: FillNeeds, client: PoolClient, tenantID: string): Promise<Page | undefined> {
  const { rows } = await client.query<Filling>(OLDEST, [tenantID]);
  const [batch] = rows;
  if (!batch) return undefined;
  const page = await fillPage(needs, client, batch);
  const last = page.found.at(-1);
  const isOver = page.isLast || batch.looked_at + page.found.length >= MAX_RUNS;
  await client.query(ADVANCE, [
    batch.id,
    page.found.length,
    page.done,
    page.refused,
    page.error,
    last?.created_at ?? null,
    last?.id ?? null,
    isOver,
  ]);
  return page;
}

async function fillPage(needs: FillNeeds, client: PoolClient, batch: Filling): Promise<Page> {
  const job = BatchJob.parse(batch.asked);
  return job.does === 'cancel' ? cancelPage(needs, client, { batch, job }) : rerunPage(needs, client, { batch, job });
}

async function cancelPage(
  { runs, rights }: FillNeeds,
  client: PoolClient,
  { batch, job }: Doing<'cancel'>,
): Promise<Page> {
  const found = await findPage<Found & { parent_id: string | null }>(client, batch, {
    filter: job.filter,
    statuses: job.filter.status ? [job.filter.status] : ['PENDING', 'RUNNING', 'WAITING'],
    condition: 'i.completed_at is null',
    columns: 'i.parent_id',
    count: PAGE,
  });
  const permitted = await ofPermitted(rights, batch, found);
  const tenantID = batch.tenant_id;
  const ended = await runs.end({ tenantID, ids: permitted.map(({ id }) => id), status: 'CANCELLED', error: null });
  const isEnded = new Set(ended);
  const parents = permitted.flatMap(({ id, parent_id }) => (isEnded.has(id) && parent_id ? [parent_id] : []));
  if (parents.length > 0) await runs.wake(parents);
  const done = permitted.filter(({ id }) => isEnded.has(id)).length;
  const refused = found.length - permitted.length;
  return { found, done, refused, error: refused > 0 ? NOT_ALLOWED : null, isLast: found.length < PAGE };
}

const OPEN = 'asked is not null and filled_at is null and cancelled_at is null';

const NEXT_TENANT = `
select tenant_id as "tenantID" from run_batch where ${OPEN} and tenant_id > $1::uuid order by tenant_id limit 1`;

const OLDEST = `
select id, tenant_id, caller, asked, created_at, cursor_at, cursor_id, looked_at from run_batch
where ${OPEN} and tenant_id = $1::uuid order by tenant_id, updated_at limit 1 for update skip locked`;

const ADVANCE = `
update run_batch
set looked_at = looked_at + $2, total = total + $3, refused = refused + $4, last_error = coalesce($5, last_error),
    cursor_at = coalesce($6, cursor_at), cursor_id = coalesce($7, cursor_id),
    filled_at = case when $8 then now() end, updated_at = now()
where id = $1`;
