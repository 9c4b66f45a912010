import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { tenantRoute } from '../../http/route.ts';
import { findRequest, findRun } from '../../runs/find-run.ts';
import { InstanceID } from '../../runs/run-schemas.ts';
import { readForm, submitForm } from '../collection-requests/answer-by-link.ts';
import { answerURLOf } from '../collection-requests/answer-link.ts';
import { mayAnswerRequest } from '../collection-requests/approvers.ts';
import { listCollectionRequests } from '../collection-requests/list.ts';
import { CollectionRequest, CollectionRequestID } from '../collection-requests/schemas.ts';
import { submitCollection } from '../collection-requests/submit.ts';
import { batchJobRoutes } from '../workflow-instances/batches/jobs.ts';
import { batchRoutes } from '../workflow-instances/batches/routes.ts';
import { deliveryRoutes } from '../workflow-instances/deliveries/routes.ts';
import { listInstances } from '../workflow-instances/list.ts';
import { readLogs } from '../workflow-instances/logs/read.ts';
import { listMapChunks } from '../workflow-instances/maps/list-chunks.ts';
import { readInstance } from '../workflow-instances/read.ts';
import { previewRerunOfInstance, rerunInstance } from '../workflow-instances/rerun/rerun.ts';
import { readStepInput } from '../workflow-instances/step-input/read.ts';
import { streamInstance } from '../workflow-instances/stream.ts';
import { cloneWorkflow } from './clone.ts';
import { createWorkflow } from './create.ts';
import { deleteWorkflow } from './delete.ts';
import { describeNodes } from './describe.ts';
import { executeWorkflow } from './execute/execute.ts';
import { executeWorkflowBulk } from './execute/execute-bulk.ts';
import { pauseRoutes } from './execute/pause.ts';
import { sendWorkflowEvent } from './execute/send-event.ts';
import { testWorkflow } from './execute/test-workflow.ts';
import { generateWorkflow } from './generate/generate.ts';
import { listWorkflows } from './list.ts';
import { planWorkflow } from './plan/plan.ts';
import { presentCollectionRequest, presentWorkflow } from './present.ts';
import { readWorkflow } from './read.ts';
import { Workflow, WorkflowID } from './schemas.ts';
import { updateWorkflow } from './update.ts';
import { readUsage } from './usage.ts';
import { versionRoutes } from './versions/routes.ts';

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
