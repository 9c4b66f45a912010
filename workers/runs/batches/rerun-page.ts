import { AppError, toAppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { isRefusedStatement, type Pool, type PoolClient } from '#shared/db/pool.ts';
import { insertRerun } from '#shared/runs/accept-rerun.ts';
import { planRerun } from '#shared/runs/plan-rerun.ts';
import type { RunsInFlight } from '#shared/tenants/counted-quotas.ts';
import { resolveInputs } from '#shared/workflow/inputs.ts';
import { governRun } from '#shared/workflow/limits.ts';
import { runTimeoutMs, WorkflowOptions } from '#shared/workflow/options.ts';
import type { RunStatus } from '#shared/workflow/progress/status.ts';
import type { RunError } from '#shared/workflow/run-error.ts';
import { type Doing, type FillNeeds, type Found, findPage, NOT_ALLOWED, ofPermitted, PAGE, type Page } from './page.ts';

interface Source extends Found {
  workflow_id: string;
  version_id: string;
  status: RunStatus;
  error: RunError | null;
  tags: string[];
  published_id: string | null;
  is_disabled: boolean | null;
}

/** Re-runs the runs of a page, as many as the tenant has capacity for. */
export async function rerunPage(
  { pool, rights, inFlight }: FillNeeds,
  client: PoolClient,
  { batch, job }: Doing<'rerun'>,
): Promise<Page> {
  // Runs for which the tenant has no capacity now are re-run by a later page.
  const { granted } = await inFlight.addMany(batch.tenant_id, PAGE);
  if (granted === 0) return { found: [], done: 0, refused: 0, error: null, isLast: false };
  const found = await findPage<Source>(client, batch, {
    filter: job.filter,
    statuses: [job.filter.status ?? 'FAILED'],
    condition: 'i.completed_at is not null and not i.is_test and i.workflow_id is not null and i.map_id is null',
    columns: SOURCE,
    count: granted,
  });
  const permitted = new Set(await ofPermitted(rights, batch, found));
  const versions = new Map<string, Promise<WorkflowOptions>>();
  const page = { done: 0, refused: 0, error: null as string | null };
  for (const source of found) {
    const needs = { pool, client, versions, inFlight };
    const error = permitted.has(source) ? await rerunOne(needs, { batch, job, source }) : NOT_ALLOWED;
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
    // Counts the size of the input, for the next page; capacity for this run was granted above.
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

/** Reads the input of one run: the inputs of a page may have 250 MB together. */
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

const SOURCE = `i.version_id, i.status, i.error,
  array(select tag::text from run_tag t where t.instance_id = i.id) as tags,
  (select w.version_id from workflow w where w.id = i.workflow_id and w.tenant_id = i.tenant_id) as published_id,
  (select w.is_disabled from workflow w where w.id = i.workflow_id and w.tenant_id = i.tenant_id) as is_disabled`;
