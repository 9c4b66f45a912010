import { z } from 'zod';
import { inEntityTransaction } from '#shared/db/query.ts';
import { Workflow as WorkflowEntity } from '#shared/entities/tables/workflow.ts';
import { WorkflowOptions } from '#shared/workflow/options.ts';
import { createAsset } from '../../assets/assets.ts';
import { announceOffered } from '../../assets/offered-tools.ts';
import { tenantRoute } from '../../context/routes.ts';
import {
  asStored,
  authorAccess,
  checkGraph,
  checkOptions,
  isEmpty,
  publish,
  writeVersion,
} from '../../graphs/graph.ts';
import { requireVersionCapacity } from '../../graphs/workflow-versions.ts';
import { requireNamedTools } from './named-tools.ts';
import { presentWorkflow } from './present.ts';
import { graphAliases, Workflow, WorkflowCreate } from './schemas.ts';

export const createWorkflow = tenantRoute({
  name: 'createWorkflow',
  method: 'post',
  path: '/workflows',
  summary: 'Create a workflow',
  description:
    'Stores a graph of nodes and edges and publishes it. With `draft: true` it is not published and need not be complete.',
  status: 201,
  access: ({ body }) => [
    { permission: 'workflow.create', object: 'workflow:*' },
    ...authorAccess(body.nodes, body.options),
  ],
  body: WorkflowCreate,
  aliases: graphAliases,
  response: z.object({ workflow: Workflow }),
  idempotent: 'transaction',

  async handle({ body, caller, identity, em, tenantID, newAssetID }, context) {
    await requireNamedTools(context, { tenantID, identity }, body.nodes);
    const graph = {
      nodes: body.nodes ?? [],
      edges: body.edges ?? [],
      options: body.options ?? WorkflowOptions.parse({}),
    };
    if (!body.draft && !isEmpty(graph)) await checkGraph(em, graph);
    if (!body.draft) await checkOptions(em, graph.options);

    const id = newAssetID();
    const version = writeVersion(em, { tenantID, workflowID: id, number: 1, caller }, graph);
    const state = { versionID: null, workflowOptions: asStored(graph.options) };
    if (!body.draft) publish(state, version, caller);
    const { title, description: workflowDescription, folderID, isOfferedAsTool = false } = body;
    const named = { id, title, workflowDescription, folderID, isOfferedAsTool };
    const workflow = await inEntityTransaction(em, async () => {
      const created = await createAsset(em, caller, 'workflow', WorkflowEntity, { ...named, ...state });
      await requireVersionCapacity(em, tenantID);
      return created;
    });
    announceOffered(context, { em, tenantID, isOffered: isOfferedAsTool });
    return { workflow: presentWorkflow(workflow, version) };
  },
});
