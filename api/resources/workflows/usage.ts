import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { findWorkflowsThatCall } from '../../assets/calling-workflows.ts';
import { findStarters, Starters } from '../../assets/starters.ts';
import { tenantRoute } from '../../context/routes.ts';
import { exampleIDs } from '../../http/fields/example-ids.ts';
import { WorkflowReference } from '../../http/fields/response-parts.ts';
import { WorkflowID } from '../../runs/run-schemas.ts';

/** Workflows that are named; further ones are only counted. */
const SHOWN = 200;

const exampleUsage = {
  workflows: [{ workflowID: exampleIDs.workflowID, workflowTitle: 'Approve an order' }],
  others: 1,
  listeners: [],
  cronJobs: [],
  appPages: [],
  otherStarters: 0,
};

const Usage = z
  .object({
    workflows: z.array(WorkflowReference),
    others: z.int().describe('How many more there are: the caller may not read them, or the list is too long'),
    ...Starters.shape,
  })
  .meta({ id: 'WorkflowUsage', examples: [exampleUsage] });

export const readUsage = tenantRoute({
  name: 'getWorkflowUsage',
  method: 'get',
  path: '/workflows/:workflowID/usage',
  summary: 'Get the usage of a workflow',
  description:
    'Returns the workflows that would fail without this one: their published versions call it, or name it to handle their failures; and the active listeners, the enabled cron jobs and the published app pages that start it.',
  permission: 'workflow.read',
  object: ({ params }) => `workflow:${params.workflowID}`,
  params: WorkflowID,
  response: Usage,

  async handle({ params: { workflowID }, em, tenantID, visible }, { pool }) {
    if (!(await em.findOne(Workflow, { id: workflowID }, { fields: ['id'] })))
      throw new AppError('NOT_FOUND', 'Workflow not found');
    const calling = await findWorkflowsThatCall(pool, tenantID, { workflowID });
    const page = { fields: ['id', 'title'] as const, limit: SHOWN, orderBy: { createdAt: 'desc' as const } };
    const found = await em.find(Workflow, { id: { $in: calling }, ...(await visible('workflow.read')) }, page);
    const workflows = found.map(({ id, title }) => ({ workflowID: id, workflowTitle: title }));
    const starters = await findStarters({ em, pool, tenantID, visible }, workflowID);
    return { workflows, others: calling.length - workflows.length, ...starters };
  },
});
