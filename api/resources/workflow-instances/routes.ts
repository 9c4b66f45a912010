import { z } from 'zod';
import { tenantRoute } from '../../context/routes.ts';
import { findRun } from '../../runs/find-run.ts';
import { InstanceID } from '../../runs/run-schemas.ts';
import { batchJobRoutes } from './batches/jobs.ts';
import { batchRoutes } from './batches/routes.ts';
import { deliveryRoutes } from './deliveries/routes.ts';
import { listInstances } from './list.ts';
import { readLogs } from './logs/read.ts';
import { listMapChunks } from './maps/list-chunks.ts';
import { readInstance } from './read.ts';
import { previewRerunOfInstance, rerunInstance } from './rerun/rerun.ts';
import { readStepInput } from './step-input/read.ts';
import { streamInstance } from './stream.ts';

export const workflowInstanceRoutes = [
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
];
