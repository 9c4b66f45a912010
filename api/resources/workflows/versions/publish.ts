import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { WorkflowVersion } from '#shared/entities/tables/workflow-version.ts';
import { announceOffered } from '../../../assets/offered-tools.ts';
import { tenantRoute } from '../../../context/routes.ts';
import {
  authorAccess,
  checkGraph,
  checkOptions,
  findLatest,
  type Graph,
  graphOf,
  isEmpty,
  lockWorkflow,
  publish,
  saveGraph,
} from '../../../graphs/graph.ts';
import { requireVersionCapacity } from '../../../graphs/workflow-versions.ts';
import { requireNamedTools } from '../named-tools.ts';
import { presentWorkflow } from '../present.ts';
import { Workflow } from '../schemas.ts';
import { VersionID, VersionRestore } from './schemas.ts';

export const publishVersion = tenantRoute({
  name: 'publishWorkflowVersion',
  method: 'post',
  path: '/workflows/:workflowID/versions/:versionID/publish',
  summary: 'Publish a version of a workflow',
  description:
    'Makes a version the one that is executed, also an earlier one. Its graph is checked, and the caller needs the permissions to use what its nodes name.',
  permission: 'workflow.update',
  object: ({ params }) => `workflow:${params.workflowID}`,
  params: VersionID,
  response: z.object({ workflow: Workflow }),
  // Repeating it changes nothing more.
  idempotent: false,

  async handle({ params, caller, identity, em, tenantID, require }, context) {
    const changed = await em.transactional(async (tx) => {
      const workflow = await lockWorkflow(tx, params.workflowID);
      const version = await getVersion(tx, params);
      const graph = graphOf(version);
      await require(authorAccess(graph.nodes, graph.options));
      await requireNamedTools(context, { tenantID, identity }, graph.nodes);
      await requireComplete(tx, graph, workflow.id);
      publish(workflow, version, caller);
      await tx.flush();
      return { workflow: presentWorkflow(workflow, await findLatest(tx, workflow.id)) };
    });
    announceOffered(context, { em, tenantID, isOffered: changed.workflow.isOfferedAsTool });
    return changed;
  },
});

export const restoreVersion = tenantRoute({
  name: 'restoreWorkflowVersion',
  method: 'post',
  path: '/workflows/:workflowID/versions/:versionID/restore',
  summary: 'Restore a version of a workflow',
  description:
    'Saves the graph of a version as the latest version, and publishes it unless `draft` is true. Nothing is saved if the latest version has the same graph.',
  permission: 'workflow.update',
  object: ({ params }) => `workflow:${params.workflowID}`,
  params: VersionID,
  body: VersionRestore,
  response: z.object({ workflow: Workflow }),
  // Repeating it changes nothing more.
  idempotent: false,

  async handle({ params, body, caller, identity, em, tenantID, require }, context) {
    const changed = await em.transactional(async (tx) => {
      const workflow = await lockWorkflow(tx, params.workflowID);
      const graph = graphOf(await getVersion(tx, params));
      await require(authorAccess(graph.nodes, graph.options));
      await requireNamedTools(context, { tenantID, identity }, graph.nodes);
      if (!body.draft) await requireComplete(tx, graph, workflow.id);
      const latest = await findLatest(tx, workflow.id);
      const version = saveGraph(tx, { workflow, latest, caller, publishes: !body.draft }, graph);
      await tx.flush();
      if (version !== latest) await requireVersionCapacity(tx, tenantID);
      return { workflow: presentWorkflow(workflow, version) };
    });
    announceOffered(context, { em, tenantID, isOffered: changed.workflow.isOfferedAsTool });
    return changed;
  },
});

async function getVersion(em: EntityManager, params: z.output<typeof VersionID>): Promise<WorkflowVersion> {
  const version = await em.findOne(WorkflowVersion, { id: params.versionID, workflowID: params.workflowID });
  if (!version) throw new AppError('NOT_FOUND', 'Version not found');
  return version;
}

async function requireComplete(em: EntityManager, graph: Graph, workflowID: string): Promise<void> {
  if (!isEmpty(graph)) await checkGraph(em, graph, workflowID);
  await checkOptions(em, graph.options, workflowID);
}
