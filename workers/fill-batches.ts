import { insertRerun } from '#shared/accept-rerun.ts';
import { BatchJob } from '#shared/batch-job.ts';
import type { Caller } from '#shared/caller.ts';
import type { RunError } from '#shared/db/entities/workflow-instance.ts';
import { inTransaction, isRefusedStatement, type Pool, type PoolClient } from '#shared/db/pool.ts';
import { AppError, toAppError } from '#shared/errors.ts';
import { newID } from '#shared/ids.ts';
import type { JsonObject } from '#shared/json.ts';
import { planRerun } from '#shared/plan-rerun.ts';
import type { Rights } from '#shared/policy/rights.ts';
import { joinConditions, type RunFilter, runConditions } from '#shared/run-filter.ts';
import type { Runs } from '#shared/runs.ts';
import type { RunsInFlight } from '#shared/runs-in-flight.ts';
import { resolveInputs } from '#shared/workflow/inputs.ts';
import { governRun } from '#shared/workflow/limits.ts';
import { runTimeoutMs, WorkflowOptions } from '#shared/workflow/options.ts';
import type { RunStatus } from '#shared/workflow/status.ts';
import { inLaps } from './laps.ts';

/** Runs of a page. The batch is locked while they are written. */
const PAGE = 50;
/** A job looks at this many runs at most. */
const MAX_RUNS = 100_000;

export interface FillNeeds {
  pool: Pool;
  runs: Pick<Runs, 'end' | 'wake' | 'refill'>;
  rights: Rights;
  inFlight: Pick<RunsInFlight, 'addMany'>;
}

interface Filling {
  id: string;
  tenant_id: string;
  caller: Caller;
  asked: unknown;
  created_at: Date;
  cursor_at: Date | null;
  cursor_id: string | null;
  looked_at: number;
}

interface Found {
  id: string;
  created_at: Date;
  workflow_id: string | null;
}

interface Page {
  found: readonly Found[];
  done: number;
  refused: number;
  /** Of the last one that was refused. */
  error: string | null;
  /** There is nothing behind it. */
  isLast: boolean;
}

/**
 * Goes on with a batch by one page: tenants in turn, and of each the batch that has waited longest. The runs of the page and the place
 * behind it are one transaction, so a job that is interrupted goes on where it was and repeats none. Answers whether there may be more to
 * do at once.
 */
export function createBatchFilling(needs: FillNeeds): () => Promise<boolean> {
  const { pool, runs } = needs;
  return inLaps({
    async next(after) {
      const values = [after];
      return (await pool.query<{ tenantID: string }>({ name: 'next_batches', text: NEXT_TENANT, values })).rows[0];
    },
    async work({ tenantID }) {
      const filled = await inTransaction(pool, (client) => fillOldest(needs, client, tenantID));
      if (filled && filled.done > 0) await runs.refill().catch(() => undefined);
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

interface Doing<Does extends BatchJob['does']> {
  batch: Filling;
  job: Extract<BatchJob, { does: Does }>;
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
  const mine = await ofPermitted(rights, batch, found);
  const tenantID = batch.tenant_id;
  const ended = await runs.end({ tenantID, ids: mine.map(({ id }) => id), status: 'CANCELLED', error: null });
  const isEnded = new Set(ended);
  const parents = mine.flatMap(({ id, parent_id }) => (isEnded.has(id) && parent_id ? [parent_id] : []));
  if (parents.length > 0) await runs.wake(parents);
  const done = mine.filter(({ id }) => isEnded.has(id)).length;
  const refused = found.length - mine.length;
  return { found, done, refused, error: refused > 0 ? NOT_ALLOWED : null, isLast: found.length < PAGE };
}

interface Source extends Found {
  workflow_id: string;
  version_id: string;
  status: RunStatus;
  error: RunError | null;
  tags: string[];
  published_id: string | null;
  is_disabled: boolean | null;
}

async function rerunPage(
  { pool, rights, inFlight }: FillNeeds,
  client: PoolClient,
  { batch, job }: Doing<'rerun'>,
): Promise<Page> {
  // What the tenant has no room for is taken up later.
  const { granted } = await inFlight.addMany(batch.tenant_id, PAGE);
  if (granted === 0) return { found: [], done: 0, refused: 0, error: null, isLast: false };
  const found = await findPage<Source>(client, batch, {
    filter: job.filter,
    statuses: [job.filter.status ?? 'FAILED'],
    condition: 'i.completed_at is not null and not i.is_test and i.workflow_id is not null and i.map_id is null',
    columns: SOURCE,
    count: granted,
  });
  const mine = new Set(await ofPermitted(rights, batch, found));
  const versions = new Map<string, Promise<WorkflowOptions>>();
  const page = { done: 0, refused: 0, error: null as string | null };
  for (const source of found) {
    const needs = { pool, client, versions, inFlight };
    const error = mine.has(source) ? await rerunOne(needs, { batch, job, source }) : NOT_ALLOWED;
    if (error === null) page.done += 1;
    else {
      page.refused += 1;
      page.error = error;
    }
  }
  return { found, ...page, isLast: found.length < granted };
}

interface RerunNeeds {
  pool: Pool;
  client: PoolClient;
  versions: Map<string, Promise<WorkflowOptions>>;
  inFlight: Pick<RunsInFlight, 'addMany'>;
}

/** Returns why a run cannot be repeated, or null. */
async function rerunOne(
  { pool, client, versions, inFlight }: RerunNeeds,
  { batch, job, source }: Doing<'rerun'> & { source: Source },
): Promise<string | null> {
  await client.query('savepoint one');
  try {
    const versionID = versionOf(job, source);
    const asked = {
      id: source.id,
      tenantID: batch.tenant_id,
      versionID: source.version_id,
      status: source.status,
      error: source.error,
    };
    const { reusable } = await planRerun(pool, asked, { versionID, from: job.from });
    const options = versions.get(versionID) ?? readOptions(pool, batch.tenant_id, versionID);
    versions.set(versionID, options);
    const ofVersion = await options;
    const caller = { ...batch.caller, origin: 'direct' as const };
    const given = await readInput(client, source);
    const input = resolveInputs(ofVersion.inputDefinitions, given, { field: 'args' });
    // Counted for the next page: this one had room.
    await inFlight.addMany(batch.tenant_id, 0, [input]);
    const { workflow_id: workflowID } = source;
    await insertRerun(client, {
      id: newID(),
      tenantID: batch.tenant_id,
      workflowID,
      versionID,
      caller,
      input,
      ...governRun(ofVersion, { workflowID, caller, input, asked: { class: ofVersion.class ?? 'batch' } }),
      timeoutMs: runTimeoutMs(ofVersion),
      tags: source.tags,
      rerunOf: source.id,
      batchID: batch.id,
      reusable,
    });
    await client.query('release savepoint one');
    return null;
  } catch (error) {
    if (!(error instanceof AppError) && !isRefusedStatement(error)) throw error;
    await client.query('rollback to savepoint one');
    return `${source.id}: ${toAppError(error).message}`;
  }
}

/** One at a time: those of a page may be 250 MB together. */
async function readInput(client: PoolClient, { id }: Source): Promise<JsonObject> {
  const { rows } = await client.query<{ input: JsonObject }>('select input from workflow_instance where id = $1', [id]);
  if (!rows[0]) throw new AppError('CONFLICT', 'The inputs of this run are no longer kept');
  return rows[0].input;
}

function versionOf({ version }: Doing<'rerun'>['job'], source: Source): string {
  if (source.is_disabled === null) throw new AppError('CONFLICT', 'The workflow of this run was deleted');
  if (source.is_disabled) throw new AppError('CONFLICT', 'Workflow is disabled');
  if (typeof version === 'object') return version.id;
  const id = version === 'original' ? source.version_id : source.published_id;
  if (id === null) throw new AppError('CONFLICT', 'This workflow has drafts only');
  return id;
}

async function readOptions(pool: Pool, tenantID: string, versionID: string): Promise<WorkflowOptions> {
  const { rows } = await pool.query<{ options: unknown }>(
    'select options from workflow_version where id = $1 and tenant_id = $2',
    [versionID, tenantID],
  );
  if (!rows[0]) throw new AppError('CONFLICT', 'The version of this run is no longer kept');
  return WorkflowOptions.parse(rows[0].options);
}

/** Those of workflows that the caller of the batch may execute by now. */
async function ofPermitted<F extends Found>(rights: Rights, batch: Filling, found: readonly F[]): Promise<F[]> {
  const whose = { tenantID: batch.tenant_id, caller: batch.caller };
  const allowed = new Map<string | null, boolean>();
  for (const { workflow_id } of found) {
    if (allowed.has(workflow_id)) continue;
    const object = `workflow:${workflow_id ?? '*'}`;
    allowed.set(workflow_id, await rights.may(whose, { permission: 'workflow.execute', object }));
  }
  return found.filter(({ workflow_id }) => allowed.get(workflow_id));
}

const NOT_ALLOWED = 'The caller may not execute the workflow of a run';

interface Finding {
  filter: RunFilter;
  /** Each has its part of an index in the order of the pages. */
  statuses: readonly RunStatus[];
  condition: string;
  columns: string;
  count: number;
}

/** Runs behind the last page, newest first; none that was accepted after the batch. */
async function findPage<F extends Found>(
  client: PoolClient,
  batch: Filling,
  { filter: { status: _, ...filter }, statuses, condition, columns, count }: Finding,
): Promise<F[]> {
  const { sql, params } = joinConditions(runConditions(batch.tenant_id, filter), 'i', 6);
  const parts = statuses.map(
    (status) => `(
  select i.id, i.created_at, i.workflow_id, ${columns} from workflow_instance i
  where i.tenant_id = $1 and i.status = '${status}' and ${condition} and i.created_at <= $2
    and ($3::timestamptz is null or (i.created_at, i.id) < ($3, $4::uuid)) and ${sql}
  order by i.created_at desc, i.id desc limit $5)`,
  );
  const { rows } = await client.query<F>(
    `select * from (${parts.join(' union all ')}) page order by created_at desc, id desc limit $5`,
    [batch.tenant_id, batch.created_at, batch.cursor_at, batch.cursor_id, count, ...params],
  );
  return rows;
}

const SOURCE = `i.version_id, i.status, i.error,
  array(select tag::text from run_tag t where t.instance_id = i.id) as tags,
  (select w.version_id from workflow w where w.id = i.workflow_id and w.tenant_id = i.tenant_id) as published_id,
  (select w.is_disabled from workflow w where w.id = i.workflow_id and w.tenant_id = i.tenant_id) as is_disabled`;

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
