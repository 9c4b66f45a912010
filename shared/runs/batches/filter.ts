import { z } from 'zod';
import { Moment } from '../../core/schema/moment.ts';
import { RunStatus } from '../../workflow/progress/status.ts';

const ID = z.uuid();

/** A moment as the API gives it, and as it is stored with a batch. */
const StoredMoment = z.union([z.date(), Moment]);

/** A filter of a tenant's runs: lists of runs use it, and batches store it. */
export const RunFilter = z.object({
  workflowID: ID.optional(),
  parentInstanceID: ID.optional(),
  /** The run with this id and all its descendants. */
  root: ID.optional(),
  status: RunStatus.optional(),
  errorCode: z.string().optional(),
  tag: z.string().optional(),
  version: z
    .object({
      id: ID,
      workflowID: ID.nullable(),
      createdAt: StoredMoment,
      supersededAt: StoredMoment.nullable(),
    })
    .nullable()
    .optional(),
  origin: z.string().optional(),
  batch: ID.optional(),
  rerunOf: ID.optional(),
  from: StoredMoment.optional(),
  to: StoredMoment.optional(),
  isTest: z.boolean().optional(),
  /** The runs or else the workflows that the text of a search has found: never both, since no index serves the two conditions together. */
  named: z
    .intersection(
      z.object({ search: z.string() }),
      z.union([z.object({ ids: z.array(ID) }), z.object({ workflowIDs: z.array(ID) })]),
    )
    .optional(),
});
export type RunFilter = z.infer<typeof RunFilter>;

/** A condition on rows of `workflow_instance`. */
export interface RunCondition {
  /** `%row` stands for the alias of the row, and each `?` for a parameter. */
  sql: string;
  params: string[];
}

/** The conditions of a filter. Each is served by an index, or is met by so many runs that reading an ordered index soon fills a page. */
export function runConditions(tenantID: string, filter: RunFilter): RunCondition[] {
  const { workflowID, parentInstanceID, root, status, errorCode, tag, version, origin, batch, rerunOf } = filter;
  const { from, to, isTest, named } = filter;
  return [
    // A chunk of a map is a part of its run.
    ...(parentInstanceID === undefined && root === undefined ? [{ sql: '%row.map_id is null', params: [] }] : []),
    ...when(workflowID, '%row.workflow_id = ?::uuid'),
    ...when(parentInstanceID, '%row.parent_id = ?::uuid'),
    ...when(root, `%row.id in (${TREE})`),
    ...when(status, '%row.status = ?'),
    ...when(errorCode, `(%row.error is not null and %row.error->>'code' = ?)`),
    ...(tag === undefined ? [] : [{ sql: TAGGED, params: [tenantID, tag] }]),
    ...(version === undefined ? [] : ofVersion(version)),
    ...when(origin, originIs(origin)),
    ...when(batch, '%row.batch_id = ?::uuid'),
    ...when(rerunOf, '%row.rerun_of = ?::uuid'),
    ...when(from?.toISOString(), '%row.created_at >= ?::timestamptz'),
    ...when(to?.toISOString(), '%row.created_at < ?::timestamptz'),
    ...(named && 'ids' in named ? when(arrayOf(named.ids), '%row.id = any(?::uuid[])') : []),
    ...(named && 'workflowIDs' in named ? when(arrayOf(named.workflowIDs), '%row.workflow_id = any(?::uuid[])') : []),
    ...when(isTest === undefined ? undefined : String(isTest), '%row.is_test = ?::boolean'),
  ];
}

function when(value: string | undefined, sql: string): RunCondition[] {
  return value === undefined ? [] : [{ sql, params: [value] }];
}

/** An array literal of Postgres: the query builder would make a list of parameters of a JavaScript array. */
function arrayOf(ids: readonly string[]): string {
  return `{${ids.join(',')}}`;
}

/** The index of origins leaves out direct runs, which are most. The condition repeats its predicate, so that the planner uses it. */
function originIs(origin: string | undefined): string {
  const ofIndex = origin === 'direct' ? '' : ` and %row.caller->>'origin' <> 'direct'`;
  return `(%row.caller->>'origin' = ?${ofIndex})`;
}

/** Runs of a version were accepted between its creation and an hour after it was superseded; the retention of versions relies on the same. */
function ofVersion(version: NonNullable<RunFilter['version']> | null): RunCondition[] {
  if (!version) return [{ sql: 'false', params: [] }];
  const { id, workflowID, createdAt, supersededAt } = version;
  const latestAcceptance = workflowID && supersededAt ? new Date(supersededAt.getTime() + 3_600_000) : undefined;
  return [
    ...when(id, '%row.version_id = ?::uuid'),
    ...when(workflowID ?? undefined, '%row.workflow_id = ?::uuid'),
    ...when(new Date(createdAt.getTime() - 60_000).toISOString(), '%row.created_at >= ?::timestamptz'),
    ...when(latestAcceptance?.toISOString(), '%row.created_at <= ?::timestamptz'),
  ];
}

const TAGGED = '%row.id in (select instance_id from run_tag where tenant_id = ?::uuid and tag = ?)';

const TREE = `
with recursive tree as (
  select ?::uuid as id
  union all select c.id from workflow_instance c join tree t on c.parent_id = t.id
)
select id from tree`;

/** The conditions as one text, whose parameters begin with `$first`, on rows called `row`. */
export function joinConditions(conditions: readonly RunCondition[], row: string, first: number): RunCondition {
  let next = first;
  const texts = conditions.map(({ sql }) => sql.replaceAll('%row', row).replace(/\?/g, () => `$${next++}`));
  return { sql: texts.join(' and ') || 'true', params: conditions.flatMap(({ params }) => params) };
}
