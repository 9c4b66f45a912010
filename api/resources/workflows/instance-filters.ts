import { type FilterQuery, raw } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import type { WorkflowInstance } from '#shared/db/entities/workflow-instance.ts';
import { WorkflowVersion } from '#shared/db/entities/workflow-version.ts';
import type { EntityManager } from '#shared/db/orm.ts';
import { type RunFilter, runConditions } from '#shared/run-filter.ts';
import { invalidField } from '#shared/workflow/issues.ts';
import type { InstanceFilter } from './run-schemas.ts';

/** The conditions of a list of runs. */
export async function instanceFilters(
  em: EntityManager,
  query: z.output<typeof InstanceFilter>,
): Promise<FilterQuery<WorkflowInstance>[]> {
  const { tenantID } = em.getFilterParams<{ tenantID: string }>('tenant') ?? {};
  const conditions = runConditions(String(tenantID), await toRunFilter(em, query));
  return conditions.map(({ sql, params }) => ({ [raw((alias) => sql.replaceAll('%row', alias), params).key]: [] }));
}

/** Looks up the version. Fields of paging are left out. */
export async function toRunFilter(
  em: EntityManager,
  { version, ...filter }: z.output<typeof InstanceFilter>,
  field = 'version',
): Promise<RunFilter> {
  const { workflowID, parentInstanceID, root, status, errorCode, tag, origin, batch, rerunOf, from, to, isTest } =
    filter;
  return {
    ...{ workflowID, parentInstanceID, root, status, errorCode, tag, origin, batch, rerunOf, from, to, isTest },
    ...(version !== undefined && { version: await findVersion(em, version, { workflowID, field }) }),
  };
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
