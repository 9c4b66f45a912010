import { LockMode } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { Workflow as WorkflowEntity } from '#shared/db/entities/workflow.ts';
import { WorkflowVersion } from '#shared/db/entities/workflow-version.ts';
import { AppError } from '#shared/errors.ts';
import { WorkflowOptions } from '#shared/workflow/options.ts';
import { tenantRoute } from '../../http/route.ts';
import {
  asStored,
  authorAccess,
  checkGraph,
  type Graph,
  graphOf,
  isDraft,
  isSameGraph,
  writeVersion,
} from './graph.ts';
import { presentWorkflow } from './present.ts';
import { graphSpellings, Workflow, WorkflowID, WorkflowUpdate } from './schemas.ts';

export const updateWorkflow = tenantRoute({
  name: 'updateWorkflow',
  method: 'patch',
  path: '/workflows/:workflowID',
  summary: 'Update a workflow',
  description: 'Fields that are left out stay as they are. Runs in flight continue with the graph they began with.',
  access: ({ params, body }) => [
    { permission: 'workflow.update', object: `workflow:${params.workflowID}` },
    ...authorAccess(body.nodes),
  ],
  params: WorkflowID,
  body: WorkflowUpdate,
  spellings: graphSpellings,
  response: z.object({ workflow: Workflow }),

  async handle({ params, body, em, tenantID }) {
    return em.transactional(async (tx) => {
      // Locked, so that each of two concurrent changes sees the graph of the other.
      const lockMode = LockMode.PESSIMISTIC_WRITE;
      const workflow = await tx.findOne(WorkflowEntity, { id: params.workflowID }, { lockMode });
      if (!workflow) throw new AppError('NOT_FOUND', 'Workflow not found');
      const before = graphOf(await tx.findOneOrFail(WorkflowVersion, { id: workflow.versionID }));
      const after = change(before, body);
      if ((body.nodes || body.edges) && !isDraft(after)) await checkGraph(tx, after, workflow.id);
      if (!isSameGraph(before, after))
        workflow.versionID = writeVersion(tx, { tenantID, workflowID: workflow.id }, after).id;

      const { title, description: workflowDescription, folderID, isDisabled } = body;
      const workflowOptions = asStored(after.options);
      const changes = { title, workflowDescription, workflowOptions, folderID, isDisabled };
      tx.assign(workflow, changes, { ignoreUndefined: true });
      await tx.flush();
      return { workflow: presentWorkflow(workflow, after) };
    });
  },
});

/** Cleared nodes clear the edges too. */
function change(before: Graph, { nodes, edges, options }: z.output<typeof WorkflowUpdate>): Graph {
  return {
    nodes: nodes ?? before.nodes,
    edges: edges ?? (nodes?.length === 0 ? [] : before.edges),
    options: options === undefined ? before.options : (options ?? WorkflowOptions.parse({})),
  };
}
