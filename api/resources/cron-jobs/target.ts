import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import { QueryOptions } from '#shared/datasources/queries/options.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import type { CronJob } from '#shared/entities/tables/cron-job.ts';
import { DataQuery } from '#shared/entities/tables/data-query.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { WorkflowVersion } from '#shared/entities/tables/workflow-version.ts';
import { type CronJobType, type CronTarget, targetOf } from '#shared/triggers/cron/job.ts';
import { resolveInputs } from '#shared/workflow/inputs.ts';
import { queryGraph } from '#shared/workflow/nodes/query-graph.ts';
import { WorkflowOptions } from '#shared/workflow/options.ts';
import { asStoredConfig } from '../../assets/config-size.ts';
import type { Access } from '../../http/route/input.ts';

/** Permissions that the writer of a job needs beside the route's own. */
export function targetAccess(type: CronJobType, config: JsonObject): Access {
  const { permission, object } = targetOf(type, config);
  return { permission, object };
}

/** Rejects a job that could not run: its workflow or query must exist, and its inputs must fit. Returns the config as it is stored. */
export async function checkTarget(em: EntityManager, type: CronJobType, config: JsonObject): Promise<JsonObject> {
  const stored = asStoredConfig(config, ['cronJobConfig']);
  const target = targetOf(type, stored);
  const definitions = type === 'workflow' ? await inputsOfWorkflow(em, target) : await inputsOfQuery(em, target);
  resolveInputs(definitions, target.inputValues, { field: 'cronJobConfig.inputValues' });
  return stored;
}

async function inputsOfWorkflow(em: EntityManager, { id }: CronTarget) {
  const workflow = await em.findOne(Workflow, { id }, { fields: ['workflowOptions'] });
  if (!workflow) throw invalidField('cronJobConfig.workflowID', 'there is no such workflow');
  return WorkflowOptions.parse(workflow.workflowOptions).inputDefinitions;
}

async function inputsOfQuery(em: EntityManager, { id }: CronTarget) {
  const query = await em.findOne(DataQuery, { id }, { fields: ['dataQueryOptions'] });
  if (!query) throw invalidField('cronJobConfig.dataQueryID', 'there is no such data query');
  return QueryOptions.parse(query.dataQueryOptions).inputDefinitions;
}

type Queried = Pick<CronJob, 'tenantID' | 'cronJobType' | 'cronJobConfig' | 'timeoutSeconds' | 'creatorID'> &
  Partial<Pick<CronJob, 'createdByApiKeyID'>>;

/**
 * The graph of the runs of a job that executes a query; null for a workflow, which has its own. Written with the next flush, and kept
 * while the job uses it.
 */
export function writeVersion(em: EntityManager, job: Queried): string | null {
  const { tenantID, cronJobType, cronJobConfig, timeoutSeconds, creatorID, createdByApiKeyID = null } = job;
  if (cronJobType === 'workflow') return null;
  const { id: dataQueryID, inputValues } = targetOf(cronJobType, cronJobConfig);
  const graph = queryGraph({ dataQueryID, inputs: Object.keys(inputValues), timeoutSeconds });
  const owner = { tenantID, workflowID: null, creatorID, createdByApiKeyID };
  const version = em.create(WorkflowVersion, { id: newID(), ...owner, ...graph, options: {}, supersededAt: null });
  em.persist(version);
  return version.id;
}

/** Lets retention delete the graph that a job has used, once its runs are old. */
export async function supersedeVersion(em: EntityManager, { versionID }: Pick<CronJob, 'versionID'>): Promise<void> {
  if (versionID) await em.nativeUpdate(WorkflowVersion, { id: versionID }, { supersededAt: new Date() });
}
