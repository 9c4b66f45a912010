import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { readWorkflow } from '../../db/read-workflow.ts';
import { tenantRoute } from '../../http/route.ts';
import { readForm, submitForm } from './answer-by-link.ts';
import { answerURLOf } from './answer-link.ts';
import { mayAnswerRequest } from './approvers.ts';
import { batchJobRoutes } from './batch-jobs.ts';
import { batchRoutes } from './batches.ts';
import { cloneWorkflow } from './clone.ts';
import { createWorkflow } from './create.ts';
import { deleteWorkflow } from './delete.ts';
import { deliveryRoutes } from './deliveries.ts';
import { describeNodes } from './describe.ts';
import { executeWorkflow } from './execute.ts';
import { executeWorkflowBulk } from './execute-bulk.ts';
import { findRequest, findRun } from './find-run.ts';
import { generateWorkflow } from './generate.ts';
import { listWorkflows } from './list.ts';
import { listInstances } from './list-instances.ts';
import { listMapChunks } from './list-map-chunks.ts';
import { listCollectionRequests } from './list-requests.ts';
import { pauseRoutes } from './pause.ts';
import { planWorkflow } from './plan.ts';
import { presentCollectionRequest, presentWorkflow } from './present.ts';
import { readInstance } from './read-instance.ts';
import { readLogs } from './read-logs.ts';
import { readStepInput } from './read-step-input.ts';
import { CollectionRequest, CollectionRequestID } from './request-schemas.ts';
import { previewRerunOfInstance, rerunInstance } from './rerun.ts';
import { InstanceID } from './run-schemas.ts';
import { Workflow, WorkflowID } from './schemas.ts';
import { sendWorkflowEvent } from './send-event.ts';
import { streamInstance } from './stream.ts';
import { submitCollection } from './submit.ts';
import { testWorkflow } from './test-workflow.ts';
import { updateWorkflow } from './update.ts';
import { readUsage } from './usage.ts';
import { versionRoutes } from './versions.ts';

/** Fixed paths come before `:workflowID`, which would take them for an id. */
export const workflowRoutes = [
  listWorkflows,
  createWorkflow,
  listInstances,
  readInstance,
  rerunInstance,
  previewRerunOfInstance,
  streamInstance,
  readLogs,
  readStepInput,
  listMapChunks,
  ...deliveryRoutes,

  tenantRoute({
    name: 'stopWorkflowInstance',
    method: 'delete',
    path: '/workflows/instances/:instanceID/stop',
    summary: 'Stop a run',
    description: 'Cancels a run and the runs it started.',
    permission: 'workflow.execute',
    filter: true,
    params: InstanceID,
    response: z.object({ instanceID: z.uuid(), status: z.string() }),

    async handle({ params, em, tenantID, require }, { runs }) {
      const run = await findRun({ em, require, permission: 'workflow.execute' }, params.instanceID);
      const status = await runs.stop(tenantID, run.id);
      return { instanceID: run.id, status: status ?? run.status };
    },
  }),

  ...batchRoutes,
  ...batchJobRoutes,
  testWorkflow,
  generateWorkflow,
  describeNodes,

  listCollectionRequests,
  sendWorkflowEvent,

  tenantRoute({
    name: 'getCollectionRequest',
    method: 'get',
    path: '/workflows/data-collection/:collectionRequestID',
    summary: 'Get a data collection request',
    description: 'Returns what a run asks a person for.',
    permission: 'workflow.read',
    filter: true,
    params: CollectionRequestID,
    response: z.object({ request: CollectionRequest }),

    async handle({ params, em, tenantID, identity, require }, { formLinks }) {
      const asking = { em, require, permission: 'workflow.read' } as const;
      const { request, run } = await findRequest(asking, params.collectionRequestID);
      const workflowID = run.workflowID ?? null;
      const answerURL = answerURLOf(formLinks, request);
      const mayAnswer = answerURL !== null && (await mayAnswerRequest(request, { em, tenantID, identity, require }));
      return { request: presentCollectionRequest(request, { workflowID, answerURL: mayAnswer ? answerURL : null }) };
    },
  }),

  submitCollection,
  readForm,
  submitForm,

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
