import { type FilterQuery, raw } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import type { WorkflowInstance } from '#shared/db/entities/workflow-instance.ts';
import { WorkflowVersion } from '#shared/db/entities/workflow-version.ts';
import type { EntityManager } from '#shared/db/orm.ts';
import { invalidField } from '#shared/workflow/issues.ts';
import type { InstanceList } from './schemas.ts';

type Where = FilterQuery<WorkflowInstance>;

/** The conditions of a list of runs. Each is served by an index, or holds for many of the runs that an index gives in order. */
export async function instanceFilters(em: EntityManager, query: z.output<typeof InstanceList>): Promise<Where[]> {
  const {
    workflowID,
    parentInstanceID,
    root,
    status,
    errorCode,
    tag,
    version,
    origin,
    batch,
    rerunOf,
    from,
    to,
    isTest,
  } = query;
  return [
    ...(workflowID ? [{ workflowID }] : []),
    ...(parentInstanceID ? [{ parentID: parentInstanceID }] : []),
    ...(root ? [sql((row) => `${row}.id in (${TREE})`, [root])] : []),
    ...(status ? [{ status }] : []),
    ...(errorCode === undefined ? [] : [ofError(errorCode)]),
    ...(tag === undefined ? [] : [tagged(em, tag)]),
    ...(version === undefined ? [] : [await ofVersion(em, version, workflowID)]),
    ...(origin ? [ofOrigin(origin)] : []),
    ...(batch ? [{ batchID: batch }] : []),
    ...(rerunOf ? [{ rerunOf }] : []),
    ...(from ? [{ createdAt: { $gte: from } }] : []),
    ...(to ? [{ createdAt: { $lt: to } }] : []),
    ...(isTest === undefined ? [] : [{ isTest }]),
  ];
}

function ofError(code: string): Where {
  return { error: { $ne: null }, ...sql((row) => `${row}.error->>'code' = ?`, [code]) };
}

/** Most runs are direct: the index holds the others. */
function ofOrigin(origin: string): Where {
  const ofIndex = origin === 'direct' ? '' : ` and %.caller->>'origin' <> 'direct'`;
  return sql((row) => `(${row}.caller->>'origin' = ?${ofIndex.replace('%', row)})`, [origin]);
}

function tagged(em: EntityManager, tag: string): Where {
  const { tenantID } = em.getFilterParams<{ tenantID: string }>('tenant') ?? {};
  return sql(
    (row) => `${row}.id in (select instance_id from run_tag where tenant_id = ?::uuid and tag = ?)`,
    [String(tenantID), tag],
  );
}

/** Runs of a version were accepted between its creation and an hour after it was superseded, as its retention knows. */
async function ofVersion(em: EntityManager, version: string | number, workflowID?: string): Promise<Where> {
  if (typeof version === 'number' && workflowID === undefined)
    throw invalidField('version', 'a number counts the versions of one workflow: expected workflowID beside it');
  const named = typeof version === 'number' ? { number: version, workflowID } : { id: version };
  const found = await em.findOne(WorkflowVersion, named, { fields: ['workflowID', 'createdAt', 'supersededAt'] });
  if (!found) return { id: { $in: [] } };
  const from = new Date(found.createdAt.getTime() - 60_000);
  const until = found.supersededAt ? new Date(found.supersededAt.getTime() + 3_600_000) : null;
  return {
    versionID: found.id,
    ...(found.workflowID && { workflowID: found.workflowID }),
    createdAt: { $gte: from, ...(until && found.workflowID && { $lte: until }) },
  };
}

const TREE = `
with recursive tree as (
  select ?::uuid as id
  union all select c.id from workflow_instance c join tree t on c.parent_id = t.id
)
select id from tree`;

function sql(text: (row: string) => string, params: string[]): Record<symbol, never[]> {
  return { [raw((alias) => text(alias), params).key]: [] };
}
