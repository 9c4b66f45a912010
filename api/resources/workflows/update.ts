import { z } from 'zod';
import type { EntityManager } from '#shared/entities/orm.ts';
import { WorkflowVersion } from '#shared/entities/tables/workflow-version.ts';
import { WorkflowOptions } from '#shared/workflow/options.ts';
import { requireFolder } from '../../assets/folders.ts';
import { announceOffered } from '../../assets/offered-tools.ts';
import { tenantRoute } from '../../context/routes.ts';
import {
  authorAccess,
  checkGraph,
  checkOptions,
  findLatest,
  type Graph,
  graphOf,
  isEmpty,
  lockWorkflow,
  type Saving,
  saveGraph,
} from '../../graphs/graph.ts';
import { requireVersionCapacity } from '../../graphs/workflow-versions.ts';
import { WorkflowID } from '../../runs/run-schemas.ts';
import { requireNamedTools } from './named-tools.ts';
import { presentWorkflow } from './present.ts';
import { graphAliases, Workflow, WorkflowUpdate } from './schemas.ts';

export const updateWorkflow = tenantRoute({
  name: 'updateWorkflow',
  method: 'patch',
  path: '/workflows/:workflowID',
  summary: 'Update a workflow',
  description:
    'Fields that are left out stay as they are. A change of the graph or of the options is saved as the next version and published, with `draft: true` only saved. Options without a graph are published with the graph that is published; a later draft stays one, and gets them too. `If-Match` names the `versionNumber` that the change was made from, so that it does not undo the change of another author. Runs in flight continue with the graph they began with.',
  access: ({ params, body }) => [
    { permission: 'workflow.update', object: `workflow:${params.workflowID}` },
    ...authorAccess(body.nodes, body.options),
  ],
  params: WorkflowID,
  body: WorkflowUpdate,
  aliases: graphAliases,
  response: z.object({ workflow: Workflow }),
  etag: ({ workflow }) => workflow.versionNumber,
  conditional: true,

  async handle({ params, body, caller, identity, em, tenantID, require, requireMatch }, context) {
    const changed = await em.transactional(async (tx) => {
      const workflow = await lockWorkflow(tx, params.workflowID);
      const latest = await findLatest(tx, workflow.id);
      requireMatch(latest.number ?? 0);
      const before = graphOf(latest);
      const after = change(before, body);
      const isDraft = workflow.versionID !== latest.id;
      const hasGraph = (body.nodes ?? body.edges) !== undefined;
      const publishes = !body.draft && (hasGraph || (body.options !== undefined && !isDraft));
      // Another author may have saved nodes that this update publishes.
      await requireNamedTools(context, { tenantID, identity }, ownNodes(body, after));
      if (publishes && isDraft && !body.nodes) await require(authorAccess(after.nodes, after.options));
      if (publishes) await checkPublished(tx, after, { body, isUnchecked: isDraft, self: workflow.id });

      const top =
        body.draft || publishes ? latest : await publishOptions(tx, { workflow, latest, caller }, body.options);
      const version = saveGraph(tx, { workflow, latest: top, caller, publishes }, after);
      const { title, description: workflowDescription, folderID, isDisabled, isOfferedAsTool } = body;
      await requireFolder(tx, 'workflow', folderID);
      const named = { title, workflowDescription, folderID, isDisabled, isOfferedAsTool };
      tx.assign(workflow, named, { ignoreUndefined: true });
      await tx.flush();
      if (version !== latest) await requireVersionCapacity(tx, tenantID);
      return { workflow: presentWorkflow(workflow, version) };
    });
    const isOffered = changed.workflow.isOfferedAsTool || body.isOfferedAsTool !== undefined;
    announceOffered(context, { em, tenantID, isOffered });
    return changed;
  },
});

/**
 * Publishes options with the graph that is published now, not with a draft that was saved after it. Returns the version
 * after which the draft is saved.
 */
async function publishOptions(
  em: EntityManager,
  { workflow, latest, caller }: Omit<Saving, 'publishes' | 'base'>,
  newOptions: z.output<typeof WorkflowUpdate>['options'],
): Promise<WorkflowVersion> {
  if (newOptions === undefined || !workflow.versionID) return latest;
  const options = newOptions ?? WorkflowOptions.parse({});
  await checkOptions(em, options, workflow.id);
  const base = await em.findOneOrFail(WorkflowVersion, { id: workflow.versionID });
  const live = saveGraph(em, { workflow, latest, base, caller, publishes: true }, { ...graphOf(base), options });
  return live === base ? latest : live;
}

interface Publishing {
  body: z.output<typeof WorkflowUpdate>;
  isUnchecked: boolean;
  self: string;
}

/** Checks the changed parts, and the whole graph if it was never checked because it was only saved as a draft. */
async function checkPublished(em: EntityManager, after: Graph, { body, isUnchecked, self }: Publishing): Promise<void> {
  if ((body.nodes || body.edges || isUnchecked) && !isEmpty(after)) await checkGraph(em, after, self);
  if (body.options || isUnchecked) await checkOptions(em, after.options, self);
}

/** The nodes whose author the caller becomes: all nodes, if any part of the graph changes. */
function ownNodes({ nodes, edges, options }: z.output<typeof WorkflowUpdate>, after: Graph): Graph['nodes'] {
  return (nodes ?? edges ?? options) ? after.nodes : [];
}

/** Cleared nodes clear the edges too. */
function change(before: Graph, { nodes, edges, options }: z.output<typeof WorkflowUpdate>): Graph {
  return {
    nodes: nodes ?? before.nodes,
    edges: edges ?? (nodes?.length === 0 ? [] : before.edges),
    options: options === undefined ? before.options : (options ?? WorkflowOptions.parse({})),
  };
}
