import { z } from 'zod';
import type { Pool } from '#shared/db/pool.ts';
import { AppError } from '#shared/errors.ts';
import { INTAKE_CHANNEL, type IntakeUpdate } from '#shared/realtime/intake.ts';
import type { ApiContext } from '../../context.ts';
import { ID } from '../../http/id.ts';
import { tenantRoute } from '../../http/route.ts';
import { exampleIntake } from './examples.ts';
import { WorkflowID } from './schemas.ts';

const TenantID = z.object({ tenantID: ID });

/** The answer of all four routes. */
const Intake = z
  .object({ pausedAt: z.iso.datetime().nullable().describe('Null: not paused') })
  .meta({ id: 'Intake', examples: [exampleIntake] });

type Which = Pick<IntakeUpdate, 'tenantID'> & { workflowID: string | null };

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

type Context = Pick<ApiContext, 'pool' | 'backplane'>;

function pause(context: Context, which: Which) {
  return set(context, which, 'coalesce(paused_at, now())');
}

function resume(context: Context, which: Which) {
  return set(context, which, 'null');
}

/** The leader of the sweep does the rest within a second: see `createKeptRuns`. */
async function set({ pool, backplane }: Context, which: Which, value: string) {
  const pausedAt = await write(pool, which, value);
  const { tenantID, workflowID } = which;
  const update: IntakeUpdate = { tenantID, workflowID, pausedAt };
  await backplane.messages.publish(INTAKE_CHANNEL, update).catch(() => undefined);
  return { pausedAt };
}

async function write(pool: Pool, { tenantID, workflowID }: Which, value: string): Promise<string | null> {
  const { rows } = await pool.query<{ paused_at: Date | null }>(
    workflowID === null
      ? `update tenant set paused_at = ${value} where id = $1 and deleting_at is null returning paused_at`
      : `update workflow set paused_at = ${value} where tenant_id = $1 and id = $2 returning paused_at`,
    workflowID === null ? [tenantID] : [tenantID, workflowID],
  );
  const [row] = rows;
  if (!row) throw new AppError('NOT_FOUND', workflowID === null ? 'Tenant not found' : 'Workflow not found');
  return row.paused_at?.toISOString() ?? null;
}
