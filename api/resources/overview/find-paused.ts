import type { z } from 'zod';
import { Tenant } from '#shared/entities/tables/tenant.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { workflowRuns } from '#shared/messaging/queues/workflow-runs.ts';
import type { TenantInput } from '../../http/route/input.ts';
import { amongNewest } from '../../runs/among-newest.ts';
import type { PausedQueues } from '../../runs/paused-queues.ts';
import { MAX_COUNTED, MAX_SHOWN, type Overview } from './schemas.ts';

type Input = Pick<TenantInput<z.ZodUndefined, z.ZodUndefined, z.ZodUndefined>, 'em' | 'tenantID' | 'visible'>;

const MAX_LOOKED_AT = 1_000;

/** The pauses for which runs of a tenant do not begin. */
export async function findPaused(
  { em, tenantID, visible }: Input,
  pausedQueues: PausedQueues,
): Promise<z.input<typeof Overview>['paused']> {
  const names = await pausedQueues.names();
  const tenant = await em.findOne(Tenant, { id: tenantID }, { fields: ['pausedAt'] });
  const where = {
    $and: [
      amongNewest({ table: 'workflow', tenantID, max: MAX_LOOKED_AT }),
      { pausedAt: { $ne: null } },
      await visible('workflow.read'),
    ],
  };
  const options = { fields: ['title', 'pausedAt'], orderBy: { pausedAt: 'desc' }, limit: MAX_COUNTED + 1 } as const;
  const rows = await em.find(Workflow, where, options);
  return {
    isQueuePaused: names.includes(workflowRuns.name),
    tenantSince: tenant?.pausedAt?.toISOString() ?? null,
    workflows: {
      count: Math.min(rows.length, MAX_COUNTED),
      isMore: rows.length > MAX_COUNTED,
      newest: rows
        .slice(0, MAX_SHOWN)
        .flatMap(({ id, title, pausedAt }) => (pausedAt ? [{ id, title, pausedAt: pausedAt.toISOString() }] : [])),
    },
  };
}
