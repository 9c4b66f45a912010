import { z } from 'zod';
import { Workflow as WorkflowEntity } from '#shared/db/entities/workflow.ts';
import { WorkflowVersion } from '#shared/db/entities/workflow-version.ts';
import { AppError } from '#shared/errors.ts';
import { newID } from '#shared/ids.ts';
import { createAsset } from '../../db/assets.ts';
import { tenantRoute } from '../../http/route.ts';
import { authorAccess, checkGraph, graphOf, isDraft, writeVersion } from './graph.ts';
import { presentWorkflow } from './present.ts';
import { Workflow, WorkflowID } from './schemas.ts';

export const cloneWorkflow = tenantRoute({
  name: 'cloneWorkflow',
  method: 'post',
  path: '/workflows/:workflowID/clone',
  summary: 'Clone a workflow',
  description: 'Copies a workflow with its graph.',
  status: 201,
  access: ({ params }) => [
    { permission: 'workflow.read', object: `workflow:${params.workflowID}` },
    { permission: 'workflow.create', object: 'workflow:*' },
  ],
  params: WorkflowID,
  response: z.object({ workflow: Workflow }),
  idempotent: 'transaction',

  async handle({ params, caller, em, tenantID, require }) {
    const original = await em.findOne(WorkflowEntity, { id: params.workflowID });
    if (!original) throw new AppError('NOT_FOUND', 'Workflow not found');
    const graph = graphOf(await em.findOneOrFail(WorkflowVersion, { id: original.versionID }));
    await require(authorAccess(graph.nodes));
    if (!isDraft(graph)) await checkGraph(em, graph);

    const id = newID();
    const version = writeVersion(em, { tenantID, workflowID: id }, graph);
    const { workflowDescription, workflowOptions, folderID } = original;
    const title = `${original.title.slice(0, 255 - ' (Copy)'.length)} (Copy)`;
    const copy = { id, title, workflowDescription, workflowOptions, folderID, versionID: version.id };
    const workflow = await createAsset(em, caller, 'workflow', WorkflowEntity, copy);
    return { workflow: presentWorkflow(workflow, version) };
  },
});
