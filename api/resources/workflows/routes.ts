import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { tenantRoute } from '../../context/routes.ts';
import { WorkflowID } from '../../runs/run-schemas.ts';
import { cloneWorkflow } from './clone.ts';
import { createWorkflow } from './create.ts';
import { deleteWorkflow } from './delete.ts';
import { describeNodes } from './describe.ts';
import { executeWorkflow } from './execute/execute.ts';
import { executeWorkflowBulk } from './execute/execute-bulk.ts';
import { pauseRoutes } from './execute/pause.ts';
import { testWorkflow } from './execute/test-workflow.ts';
import { generateWorkflow } from './generate/generate.ts';
import { listWorkflows } from './list.ts';
import { checkWorkflow } from './plan/check.ts';
import { planWorkflow } from './plan/plan.ts';
import { presentWorkflow } from './present.ts';
import { readWorkflow } from './read.ts';
import { Workflow } from './schemas.ts';
import { updateWorkflow } from './update.ts';
import { readUsage } from './usage.ts';
import { versionRoutes } from './versions/routes.ts';

export const workflowListRoutes = [listWorkflows, createWorkflow];

/** Routes of graphs that need not be saved. */
export const workflowDraftRoutes = [testWorkflow, checkWorkflow, generateWorkflow, describeNodes];

export const workflowRoutes = [
  tenantRoute({
    name: 'getWorkflow',
    method: 'get',
    path: '/workflows/:workflowID',
    summary: 'Get a workflow',
    description: 'Returns a workflow with the graph that was saved last, which may be a draft.',
    permission: 'workflow.read',
    object: ({ params }) => `workflow:${params.workflowID}`,
    params: WorkflowID,
    response: z.object({ workflow: Workflow }),
    etag: ({ workflow }) => workflow.versionNumber,

    async handle({ params, tenantID }, { pool }) {
      const workflow = await readWorkflow(pool, tenantID, params.workflowID);
      if (!workflow) throw new AppError('NOT_FOUND', 'Workflow not found');
      return { workflow: presentWorkflow(workflow, workflow.latest) };
    },
  }),

  updateWorkflow,
  deleteWorkflow,
  readUsage,
  cloneWorkflow,
  executeWorkflow,
  executeWorkflowBulk,
  planWorkflow,
  ...pauseRoutes,
  ...versionRoutes,
];
