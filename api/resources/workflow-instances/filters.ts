import { type FilterQuery, raw } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import { invalidField } from '#shared/core/schema/issues.ts';
import { onEntities } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import { WorkflowVersion } from '#shared/entities/tables/workflow-version.ts';
import { type RunFilter, runConditions } from '#shared/runs/batches/filter.ts';
import { containing } from '../../http/fields/paging.ts';
import { amongNewest } from '../../runs/among-newest.ts';
import { findRunsByText } from '../../runs/find-by-text.ts';
import type { Condition } from '../../tenant/visible-rows.ts';
import type { InstanceFilter } from './schemas.ts';

/**
 * The conditions of a list of runs. `visible` limits what `search` may find; the list itself needs it as a further
 * condition.
 */
export async function instanceFilters(
  em: EntityManager,
  query: z.output<typeof InstanceFilter>,
  visible: Condition,
): Promise<FilterQuery<WorkflowInstance>[]> {
  const conditions = runConditions(tenantOf(em), await toRunFilter(em, query, { visible }));
  return conditions.map(({ sql, params }) => ({ [raw((alias) => sql.replaceAll('%row', alias), params).key]: [] }));
}

/** Looks up the version and what `search` names, among runs that are `visible`. Fields of paging are left out. */
export async function toRunFilter(
  em: EntityManager,
  { version, search, ...filter }: z.output<typeof InstanceFilter>,
  { field = 'version', visible = {} }: { field?: string; visible?: Condition },
): Promise<RunFilter> {
  const { workflowID, parentInstanceID, root, status, errorCode, tag, origin, batch, rerunOf, from, to, isTest } =
    filter;
  return {
    ...{ workflowID, parentInstanceID, root, status, errorCode, tag, origin, batch, rerunOf, from, to, isTest },
    ...(search !== undefined && { named: await findNamed(em, search, visible) }),
    ...(version !== undefined && { version: await findVersion(em, version, { workflowID, field }) }),
  };
}

const MAX_WORKFLOWS = { searched: 5_000, found: 50 };

/** Runs by id or tag; if it names none that the caller may read, workflows by title. */
async function findNamed(em: EntityManager, search: string, visible: Condition): Promise<RunFilter['named']> {
  const tenantID = tenantOf(em);
  const ids = await findRunsByText(onEntities(em), tenantID, search);
  const where = { $and: [visible, { id: { $in: ids } }] };
  const runs = ids.length === 0 ? [] : await em.find(WorkflowInstance, where, { fields: ['id'] });
  if (runs.length > 0) return { search, ids: runs.map(({ id }) => id) };
  const newest = amongNewest({ table: 'workflow', tenantID, max: MAX_WORKFLOWS.searched });
  const workflows = await em.find(
    Workflow,
    { $and: [newest, { title: containing(search) }] },
    { fields: ['id'], orderBy: { createdAt: 'desc', id: 'desc' }, limit: MAX_WORKFLOWS.found },
  );
  return { search, workflowIDs: workflows.map(({ id }) => id) };
}

function tenantOf(em: EntityManager): string {
  return String(em.getFilterParams<{ tenantID: string }>('tenant')?.tenantID);
}

async function findVersion(
  em: EntityManager,
  version: string | number,
  { workflowID, field }: { workflowID: string | undefined; field: string },
): Promise<RunFilter['version']> {
  if (typeof version === 'number' && workflowID === undefined)
    throw invalidField(field, 'a number counts the versions of one workflow: expected workflowID beside it');
  const named = typeof version === 'number' ? { number: version, workflowID } : { id: version };
  const found = await em.findOne(WorkflowVersion, named, { fields: ['workflowID', 'createdAt', 'supersededAt'] });
  if (!found) return null;
  const { id, createdAt } = found;
  return { id, workflowID: found.workflowID ?? null, createdAt, supersededAt: found.supersededAt ?? null };
}
