import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import { inEntityTransaction } from '#shared/db/query.ts';
import { Workflow as WorkflowEntity } from '#shared/entities/tables/workflow.ts';
import { createAsset } from '../../assets/assets.ts';
import { titleOfCopy } from '../../assets/copy-title.ts';
import { folderOfCopy } from '../../assets/folders.ts';
import { tenantRoute } from '../../context/routes.ts';
import {
  authorAccess,
  checkGraph,
  checkOptions,
  findLatest,
  graphOf,
  isEmpty,
  publish,
  writeVersion,
} from '../../graphs/graph.ts';
import { requireVersionCapacity } from '../../graphs/workflow-versions.ts';
import { WorkflowID } from '../../runs/run-schemas.ts';
import { requireNamedTools } from './named-tools.ts';
import { presentWorkflow } from './present.ts';
import { Workflow } from './schemas.ts';

export const cloneWorkflow = tenantRoute({
  name: 'cloneWorkflow',
  method: 'post',
  path: '/workflows/:workflowID/clone',
  summary: 'Clone a workflow',
  description: 'Copies a workflow with its latest graph. The copy is a draft if that was not published.',
  status: 201,
  access: ({ params }) => [
    { permission: 'workflow.read', object: `workflow:${params.workflowID}` },
    { permission: 'workflow.create', object: 'workflow:*' },
  ],
  params: WorkflowID,
  response: z.object({ workflow: Workflow }),
  idempotent: 'transaction',

  async handle({ params, caller, identity, em, tenantID, require }, context) {
    const original = await em.findOne(WorkflowEntity, { id: params.workflowID });
    if (!original) throw new AppError('NOT_FOUND', 'Workflow not found');
    const latest = await findLatest(em, original.id);
    const graph = graphOf(latest);
    const isDraft = original.versionID !== latest.id;
    await require(authorAccess(graph.nodes, graph.options));
    await requireNamedTools(context, { tenantID, identity }, graph.nodes);
    if (!isDraft && !isEmpty(graph)) await checkGraph(em, graph);
    if (!isDraft) await checkOptions(em, graph.options);

    const id = newID();
    const version = writeVersion(em, { tenantID, workflowID: id, number: 1, caller }, graph);
    const state = { versionID: null, workflowOptions: version.options };
    if (!isDraft) publish(state, version, caller);
    const { workflowDescription } = original;
    const folderID = await folderOfCopy(em, 'workflow', original);
    const title = titleOfCopy(original.title);
    const copy = { id, title, workflowDescription, folderID, ...state };
    const workflow = await inEntityTransaction(em, async () => {
      const created = await createAsset(em, caller, 'workflow', WorkflowEntity, copy);
      await requireVersionCapacity(em, tenantID);
      return created;
    });
    return { workflow: presentWorkflow(workflow, version) };
  },
});
