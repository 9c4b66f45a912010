import { requireQuota } from '#shared/access/quotas.ts';
import type { Pool } from '#shared/db/pool.ts';
import { onEntities, onPool } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import type { WorkflowVersion } from '#shared/entities/tables/workflow-version.ts';
import { holdText, type Measured, requireFits, storedSize } from '../http/fields/page-size.ts';

/** A version as an answer shows it with its workflow. */
type ShownVersion = Pick<WorkflowVersion, 'id' | 'number' | 'options'> &
  Partial<Pick<WorkflowVersion, 'nodes' | 'edges'>>;

/** The latest versions of workflows of the tenant, by workflow; without their graphs, if only those are needed. */
export async function readLatestVersions(
  pool: Pool,
  tenantID: string,
  { workflowIDs, withGraphs }: { workflowIDs: readonly string[]; withGraphs: boolean },
): Promise<ReadonlyMap<string, ShownVersion>> {
  const columns = withGraphs ? 'id, number, options, nodes, edges' : 'id, number, options';
  const { rows } = await pool.query<ShownVersion & { workflowID: string }>(latest(columns), [tenantID, workflowIDs]);
  return new Map(rows.map(({ workflowID, ...version }) => [workflowID, version]));
}

/** Requires that what `readLatestVersions` reads fits into an answer. */
export async function requireVersionsFit(
  pool: Pool,
  tenantID: string,
  { workflowIDs, withGraphs }: { workflowIDs: readonly string[]; withGraphs: boolean },
): Promise<void> {
  const columns = withGraphs ? ['options', 'nodes', 'edges'] : ['options'];
  const { rows } = await pool.query<Measured>(latest(`id, ${storedSize(columns)} as stored`), [tenantID, workflowIDs]);
  await requireFits(onPool(pool), { table: 'workflow_version', columns, rows });
}

const latest = (columns: string) => `
select w.id as "workflowID", v.* from unnest($2::uuid[]) as w(id) cross join lateral (
  select ${columns}
  from workflow_version where workflow_id = w.id and tenant_id = $1 order by number desc limit 1
) v`;

/** Reserves memory for a version before the calling work reads it. */
export async function holdVersion(pool: Pool, id: string): Promise<void> {
  const { rows } = await pool.query<{ bytes: number }>('select bytes from workflow_version where id = $1', [id]);
  await holdText(rows[0]?.bytes ?? 0);
}

/**
 * Requires that the tenant has room for versions that were flushed in the caller's transaction; otherwise the error rolls them back.
 * Postgres has added their size to the tenant's, so other saves of the tenant wait until the transaction ends.
 */
export function requireVersionCapacity(em: EntityManager, tenantID: string): Promise<void> {
  return requireQuota(onEntities(em), { quota: 'versionBytes', ownerID: tenantID, amount: 0 });
}

/** A version by its id, or by its number among those of its workflow. */
export type VersionName = string | number;

export interface NamedVersion {
  id: string;
  number: number;
  /** Whether the version has been published; its graph was checked then. */
  isChecked: boolean;
}

/**
 * Finds a version of a workflow for a run. Retention deletes versions without runs some time after they were superseded. That time
 * is restarted here, so that the version still exists when its run is written.
 */
export async function findVersionToRun(
  pool: Pool,
  of: { tenantID: string; workflowID: string },
  version: VersionName,
): Promise<NamedVersion | undefined> {
  const [id, number] = typeof version === 'number' ? [null, version] : [version, null];
  const values = [of.tenantID, of.workflowID, id, number];
  const { rows } = await pool.query<NamedVersion & { isStale: boolean }>(FIND, values);
  if (!rows[0]?.isStale) return rows[0];
  return (await pool.query<NamedVersion>(RENEW, values)).rows[0];
}

/** The version that was saved last. */
export async function findLatestID(pool: Pool, tenantID: string, workflowID: string): Promise<string | undefined> {
  const latestOf = await readLatestVersions(pool, tenantID, { workflowIDs: [workflowID], withGraphs: false });
  return latestOf.get(workflowID)?.id;
}

const NAMED =
  'tenant_id = $1 and workflow_id = $2 and ($3::uuid is null or id = $3) and ($4::int is null or number = $4)';
const FOUND = 'id, number, published_at is not null as "isChecked"';

// Retention looks for runs of a version that began up to an hour after it was superseded: a later run must first move
// that time.
const FIND = `
select ${FOUND}, coalesce(superseded_at < now() - interval '30 minutes', false) as "isStale" from workflow_version where ${NAMED}`;

// A version that has been published again meanwhile is not superseded and stays as it is.
const RENEW = `
update workflow_version set superseded_at = case when superseded_at is not null then now() end where ${NAMED} returning ${FOUND}`;

/** Whether a graph that belongs to no workflow was run as a test of this one. */
export async function isTestedAs(
  pool: Pool,
  { id, tenantID, createdAt }: Pick<WorkflowVersion, 'id' | 'tenantID' | 'createdAt'>,
  workflowID: string,
): Promise<boolean> {
  const { rowCount } = await pool.query(TESTED, [tenantID, workflowID, id, createdAt]);
  return rowCount === 1;
}

// The range of time makes the index of the workflow's runs usable: the run of a test is accepted right after its version
// was saved.
const TESTED = `
select from workflow_instance
where tenant_id = $1 and workflow_id = $2 and version_id = $3
  and created_at between $4::timestamptz - interval '1 minute' and $4::timestamptz + interval '1 hour' limit 1`;
