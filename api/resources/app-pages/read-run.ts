import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import { tenantRoute } from '../../context/routes.ts';
import { readOutcome } from '../../runs/run-outcomes.ts';
import { PageExecution } from './run-schemas.ts';

export const readPageRun = tenantRoute({
  name: 'getAppPageRun',
  method: 'get',
  path: '/app-pages/:appPageID/runs/:appPageInstanceID',
  summary: 'Get a run of an app page',
  description:
    'Returns the status and the result of a run that the caller has started through this page. What its nodes did is shown to callers who may read the workflow.',
  permission: 'appPage.read',
  object: ({ params }) => `appPage:${params.appPageID}`,
  params: z.object({ appPageID: idOf('appPage'), appPageInstanceID: idOf('run') }),
  response: PageExecution,

  async handle({ params: { appPageID, appPageInstanceID: instanceID }, em, tenantID, caller }, { pool }) {
    const run = await em.findOne(WorkflowInstance, { id: instanceID }, { fields: ['status', 'caller'] });
    const isOwn =
      run?.caller.origin === 'appPage' && run.caller.originID === appPageID && run.caller.requestedBy?.id === caller.id;
    if (!isOwn) throw new AppError('NOT_FOUND', 'Run not found');
    return { instanceID, status: run.status, ...(await readOutcome(pool, { tenantID, instanceID })) };
  },
});
