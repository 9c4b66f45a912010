import { z } from 'zod';
import { idOf } from '#shared/core/schema/reference.ts';
import { exampleRetention } from './examples.ts';

export const TenantID = z.object({ tenantID: idOf('tenant') });
export const WorkflowID = z.object({ workflowID: idOf('workflow') });

/**
 * The most runs of a workflow that may be kept: retention reads as many index entries to find older runs, in some
 * milliseconds.
 */
const MAX_RUNS = 10_000;

const Days = z.int().min(1).max(36_500).nullable();
const Runs = z.int().min(1).max(MAX_RUNS).nullable();

export const RunRetention = z
  .object({
    days: Days.describe('As set here. Null: as set for the tenant, or else for the deployment'),
    runs: Runs.describe('As set here. Null: as set for the tenant, or else all'),
    inForce: z
      .object({
        days: z.number().describe('Ended runs are kept so long'),
        runs: Runs.describe('Of each workflow so many of the newest are kept, at most. Null: all'),
      })
      .meta({ id: 'RunRetentionInForce' }),
    maxDays: z.number().describe('The most that this deployment allows'),
  })
  .meta({
    id: 'RunRetention',
    description: 'How long ended runs are kept, and how many. Runs that a run has started are kept as long as that run',
    examples: [exampleRetention],
  });

export const RunRetentionUpdate = z
  .object({
    days: Days.optional().describe('Null: as set for the tenant, or else for the deployment'),
    runs: Runs.optional().describe('Null: as set for the tenant, or else all'),
  })
  .meta({ id: 'RunRetentionUpdate', examples: [{ days: 14, runs: 500 }] });
