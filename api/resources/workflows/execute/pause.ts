import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { inTransaction, type Pool } from '#shared/db/pool.ts';
import { onClient } from '#shared/db/query.ts';
import { INTAKE_PAUSE_CHANNEL, type IntakePauseUpdate } from '#shared/messaging/realtime/intake-pause.ts';
import { recordUpdate } from '../../../audit/changes.ts';
import type { ApiContext } from '../../../context/context.ts';
import { tenantRoute } from '../../../context/routes.ts';
import { WorkflowID } from '../../../runs/run-schemas.ts';
import { exampleIntake } from '../examples.ts';

const TenantID = z.object({ tenantID: idOf('tenant') });

/** The answer of all four routes. */
const Intake = z
  .object({ pausedAt: z.iso.datetime().nullable().describe('Null: not paused') })
  .meta({ id: 'Intake', examples: [exampleIntake] });

type Which = Pick<IntakePauseUpdate, 'tenantID'> & { workflowID: string | null };

const pauseWorkflow = tenantRoute({
  name: 'pauseWorkflow',
  method: 'post',
  path: '/workflows/:workflowID/pause',
  summary: 'Pause a workflow',
  description:
    'No run of the workflow begins until it is resumed. Runs that have begun go on, also by starting other workflows or this one. Runs are still accepted, and are kept in their order; their time limits begin when the workflow is resumed.',
  permission: 'workflow.update',
  object: ({ params }) => `workflow:${params.workflowID}`,
  params: WorkflowID,
  response: Intake,
  // Repeating it changes nothing more.
  idempotent: false,

  handle: ({ params: { workflowID }, tenantID }, context) => pause(context, { tenantID, workflowID }),
});

const resumeWorkflow = tenantRoute({
  name: 'resumeWorkflow',
  method: 'post',
  path: '/workflows/:workflowID/resume',
  summary: 'Resume a workflow',
  description: 'The kept runs of the workflow begin in the order in which they came, before those that come later.',
  permission: 'workflow.update',
  object: ({ params }) => `workflow:${params.workflowID}`,
  params: WorkflowID,
  response: Intake,
  // Repeating it changes nothing more.
  idempotent: false,

  handle: ({ params: { workflowID }, tenantID }, context) => resume(context, { tenantID, workflowID }),
});

const pauseIntake = tenantRoute({
  name: 'pauseIntake',
  method: 'post',
  path: '/intake/pause',
  summary: 'Pause the intake of a tenant',
  description: 'Pauses all workflows of the tenant. Workflows that are paused themselves stay so when it is resumed.',
  permission: 'tenant.update',
  object: ({ params }) => `tenant:${params.tenantID}`,
  params: TenantID,
  response: Intake,
  // Repeating it changes nothing more.
  idempotent: false,

  handle: ({ tenantID }, context) => pause(context, { tenantID, workflowID: null }),
});

const resumeIntake = tenantRoute({
  name: 'resumeIntake',
  method: 'post',
  path: '/intake/resume',
  summary: 'Resume the intake of a tenant',
  description: 'Ends the pause of all workflows of the tenant, apart from those that are paused themselves.',
  permission: 'tenant.update',
  object: ({ params }) => `tenant:${params.tenantID}`,
  params: TenantID,
  response: Intake,
  // Repeating it changes nothing more.
  idempotent: false,

  handle: ({ tenantID }, context) => resume(context, { tenantID, workflowID: null }),
});

export const pauseRoutes = [pauseWorkflow, resumeWorkflow, pauseIntake, resumeIntake];

type Context = Pick<ApiContext, 'pool' | 'messaging'>;

function pause(context: Context, which: Which) {
  return set(context, which, 'coalesce(paused_at, now())');
}

function resume(context: Context, which: Which) {
  return set(context, which, 'null');
}

/** Within a second, the sweep withholds the waiting runs or releases them: see `createWithheldRuns`. */
async function set({ pool, messaging: { backplane } }: Context, which: Which, value: string) {
  const pausedAt = await write(pool, which, value);
  const { tenantID, workflowID } = which;
  const update: IntakePauseUpdate = { tenantID, workflowID, pausedAt };
  await backplane.messages.publish(INTAKE_PAUSE_CHANNEL, update).catch(() => undefined);
  return { pausedAt };
}

interface Paused {
  pausedAt: Date | null;
}

async function write(pool: Pool, { tenantID, workflowID }: Which, value: string): Promise<string | null> {
  const { table, where, asset } =
    workflowID === null
      ? { table: 'tenant', where: 'id = $1 and deleting_at is null', asset: { assetType: 'tenant', assetID: tenantID } }
      : {
          table: 'workflow',
          where: 'id = $2 and tenant_id = $1',
          asset: { assetType: 'workflow', assetID: workflowID },
        };
  const values = workflowID === null ? [tenantID] : [tenantID, workflowID];
  return inTransaction(pool, async (client) => {
    const query = onClient(client);
    const read = `select paused_at as "pausedAt" from ${table} where ${where} for no key update`;
    const [before] = (await query<Paused>(read, values)).rows;
    const update = `update ${table} set paused_at = ${value} where ${where} returning paused_at as "pausedAt"`;
    const [after] = (await query<Paused>(update, values)).rows;
    if (!after) throw new AppError('NOT_FOUND', workflowID === null ? 'Tenant not found' : 'Workflow not found');
    await recordUpdate(query, tenantID, { ...asset, before, after });
    return after.pausedAt?.toISOString() ?? null;
  });
}
