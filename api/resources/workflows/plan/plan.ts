import { createRights, type Rights } from '#shared/access/policy/rights.ts';
import type { Caller } from '#shared/core/caller.ts';
import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { DataQuery } from '#shared/entities/tables/data-query.ts';
import { WorkflowVersion } from '#shared/entities/tables/workflow-version.ts';
import { workflowPlans } from '#shared/messaging/queues/workflow-plans.ts';
import { resolveInputs } from '#shared/workflow/inputs.ts';
import { findNodeKind } from '#shared/workflow/nodes/index.ts';
import { namedAssets } from '#shared/workflow/nodes/named-assets.ts';
import { tenantRoute } from '../../../context/routes.ts';
import { type Graph, graphOf } from '../../../graphs/graph.ts';
import { findLatestID, findVersionToRun } from '../../../graphs/workflow-versions.ts';
import { runAliases } from '../../../runs/run-inputs.ts';
import { WorkflowID } from '../../../runs/run-schemas.ts';
import { graphFaults, type Problem, problemsIn, variableProblems, workflowProblems } from './problems.ts';
import { PlanQuery, WorkflowPlan, WorkflowPlanned } from './schemas.ts';

export const planWorkflow = tenantRoute({
  name: 'planWorkflow',
  method: 'post',
  path: '/workflows/:workflowID/plan',
  summary: 'Plan a run',
  description:
    'Tells what a run of the published version, or of the named one, would do with an input: which nodes it would reach, by which edges, and with which values. Nothing is executed that has an effect. It is assumed that no node fails.',
  access: ({ params }) => [
    { permission: 'workflow.execute', object: `workflow:${params.workflowID}` },
    { permission: 'workflow.read', object: `workflow:${params.workflowID}` },
  ],
  params: WorkflowID,
  withWorkflow: true,
  query: PlanQuery,
  takesData: true,
  body: WorkflowPlan,
  aliases: runAliases,
  response: WorkflowPlanned,
  idempotent: false,

  async handle(
    { params, query, body, em, tenantID, workflow, signal },
    { pool, access: { policy }, messaging: { producer } },
  ) {
    if (!workflow) throw new AppError('NOT_FOUND', 'Workflow not found');
    const { workflowID } = params;
    const versionID =
      query.version === undefined
        ? (workflow.versionID ?? (await findLatestID(pool, tenantID, workflowID)))
        : (await findVersionToRun(pool, { tenantID, workflowID }, query.version))?.id;
    const version = versionID === undefined ? null : await em.findOne(WorkflowVersion, { id: versionID });
    if (!version) throw new AppError('NOT_FOUND', 'Version not found');

    const graph = graphOf(version);
    const { input, problems } = inputOf(graph, body.args);
    const rights = createRights({ pool, policy });
    const faults = await graphFaults(em, graph, workflowID);
    problems.push(...faults.problems);
    problems.push(...(await variableProblems(em, graph)));
    problems.push(...(await queryProblems({ em, rights }, version, graph)));
    problems.push(...(await workflowProblems(em, graph)));
    const plan = faults.isSound
      ? await producer.request(
          workflowPlans,
          { tenantID, versionID: version.id, input },
          { signal, limitKeys: { tenant: tenantID } },
        )
      : { nodes: [], edges: [] };
    return { versionID: version.id, versionNumber: version.number ?? null, problems, ...plan };
  },
});

/**
 * The input of the plan. If the arguments have faults, they are used as they are: the rest of the plan may still be of
 * use.
 */
function inputOf({ options }: Graph, args: JsonObject): { input: JsonObject; problems: Problem[] } {
  try {
    return { input: resolveInputs(options.inputDefinitions, args, { field: 'args' }), problems: [] };
  } catch (error) {
    return { input: args, problems: problemsIn(error, 'input') };
  }
}

interface Judging {
  em: EntityManager;
  rights: Rights;
}

/**
 * Finds queries that are disabled, or that the author of the version may not execute, or whose datasource the author may
 * not use.
 */
async function queryProblems(
  { em, rights }: Judging,
  { tenantID, creatorID, createdByApiKeyID }: WorkflowVersion,
  { nodes }: Graph,
): Promise<Problem[]> {
  const uses = nodes.flatMap(({ id: nodeID, type, data }) => {
    const definition = findNodeKind(type);
    const assets = definition ? namedAssets(definition, data) : [];
    return assets.flatMap((asset) => (asset.type === 'dataquery' ? [{ nodeID, id: asset.id, path: asset.path }] : []));
  });
  if (uses.length === 0) return [];
  const ids = [...new Set(uses.map(({ id }) => id))];
  const queries = await em.find(DataQuery, { id: { $in: ids } }, { fields: ['id', 'datasourceID', 'isDisabled'] });
  const faults = new Map<string, string[]>();
  const author = authorOf({ creatorID, createdByApiKeyID });
  for (const { id, datasourceID, isDisabled } of queries) {
    const may = (permission: 'dataquery.execute' | 'datasource.read', object: string) =>
      author === null ? true : rights.may({ tenantID, caller: author }, { permission, object });
    faults.set(id, [
      ...(isDisabled ? ['the query is disabled'] : []),
      ...((await may('dataquery.execute', `dataquery:${id}`))
        ? []
        : ['the author of the version may not execute the query']),
      ...(!datasourceID || (await may('datasource.read', `datasource:${datasourceID}`))
        ? []
        : ['the author of the version may not use the datasource of the query']),
    ]);
  }
  return uses.flatMap(({ nodeID, id, path }) =>
    (faults.get(id) ?? []).map((message): Problem => ({ kind: 'query', nodeID, path: path.join('.'), message })),
  );
}

/** The author of a version; null for versions that were saved before authors were stored. */
function authorOf({
  creatorID,
  createdByApiKeyID,
}: Pick<WorkflowVersion, 'creatorID' | 'createdByApiKeyID'>): Caller | null {
  if (!creatorID) return null;
  const origin = 'direct' as const;
  if (createdByApiKeyID) return { type: 'apiKey', id: createdByApiKeyID, userID: creatorID, origin };
  return { type: 'user', id: creatorID, userID: creatorID, origin };
}
