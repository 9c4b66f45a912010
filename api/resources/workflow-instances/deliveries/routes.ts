import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { RunDelivery } from '#shared/entities/tables/run-delivery.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { tenantRoute } from '../../../context/routes.ts';
import { findPage } from '../../../http/fields/paging.ts';
import { findReadableRun, VALUES } from '../../../runs/find-run.ts';
import { InstanceID, WorkflowID } from '../../../runs/run-schemas.ts';
import { Deliveries, Delivery, DeliveryID, DeliveryList } from './schemas.ts';

export const deliveryRoutes = [
  tenantRoute({
    name: 'listInstanceDeliveries',
    method: 'get',
    path: '/workflows/instances/:instanceID/deliveries',
    summary: 'List the deliveries of a run',
    description:
      'Returns what the `completionWebhook` of the workflow was told of the end of a run, with every attempt: one delivery, or none.',
    permission: 'workflow.read',
    filter: true,
    alternative: 'workflow.execute',
    params: InstanceID,
    response: z.object({ deliveries: z.array(Delivery) }),

    async handle({ params, em, require, caller }) {
      const run = await findReadableRun({ em, require, caller }, params.instanceID, { without: VALUES });
      const rows = await em.find(RunDelivery, { instanceID: run.id });
      return { deliveries: rows.map(presentDelivery) };
    },
  }),

  tenantRoute({
    name: 'redeliverWorkflowDelivery',
    method: 'post',
    path: '/workflows/deliveries/:deliveryID/redeliver',
    summary: 'Redeliver the end of a run',
    description:
      'Sends the message again, at once and under the same `webhook-id`, also one that was delivered or given up. If that fails, attempts go on as after the end of the run.',
    permission: 'workflow.execute',
    filter: true,
    params: DeliveryID,
    response: z.object({ delivery: Delivery }),
    // Repeating it changes nothing more until the message is sent.
    idempotent: false,

    async handle({ params, em, require, tenantID }, { pool }) {
      const delivery = await em.findOne(RunDelivery, { id: params.deliveryID });
      await require([{ permission: 'workflow.execute', object: `workflow:${delivery?.workflowID ?? '*'}` }]);
      if (!delivery) throw new AppError('NOT_FOUND', 'Delivery not found');
      await pool.query(REDELIVER, [delivery.id, tenantID]);
      await em.refresh(delivery);
      return { delivery: presentDelivery(delivery) };
    },
  }),

  tenantRoute({
    name: 'listWorkflowDeliveries',
    method: 'get',
    path: '/workflows/:workflowID/deliveries',
    summary: 'List the deliveries of a workflow',
    description: 'Returns what the `completionWebhook` of a workflow was told of its runs, newest first.',
    permission: 'workflow.read',
    object: ({ params }) => `workflow:${params.workflowID}`,
    params: WorkflowID,
    query: DeliveryList,
    response: Deliveries,

    async handle({ params: { workflowID }, query, em }) {
      const workflow = await em.findOne(Workflow, { id: workflowID }, { fields: ['id'] });
      if (!workflow) throw new AppError('NOT_FOUND', 'Workflow not found');
      const where = { workflowID, ...(query.status && { status: query.status }) };
      const { rows, fields } = await findPage(em, RunDelivery, { where, query });
      return { deliveries: rows.map(presentDelivery), ...fields };
    },
  }),
];

function presentDelivery(row: RunDelivery): z.input<typeof Delivery> {
  return {
    deliveryID: row.id,
    instanceID: row.instanceID,
    workflowID: row.workflowID,
    url: row.url,
    status: row.status,
    attempts: row.attempts.map(({ number, at, durationMs, status, response, error }) => ({
      number,
      at: new Date(at).toISOString(),
      durationMs: durationMs ?? null,
      status: status ?? null,
      response: response ?? null,
      error: error ?? null,
    })),
    nextAttemptAt: row.nextAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    settledAt: row.settledAt?.toISOString() ?? null,
  };
}

// If an attempt is under way, `next_at` stays, so that no second attempt begins beside it.
const REDELIVER = `
update run_delivery set status = 'PENDING', tries_since_asked = 0, settled_at = null,
  next_at = case when next_at > now() and jsonb_array_length(attempts) > 0 and not jsonb_exists(attempts -> -1, 'durationMs') then next_at else now() end
where id = $1 and tenant_id = $2`;
