import { z } from 'zod';
import { idOf } from '#shared/core/schema/reference.ts';
import { exampleDispatch } from './examples.ts';

export const TenantID = z.object({ tenantID: idOf('tenant') });

const MaxRuns = z.int().min(1).max(100_000).nullable();

export const Dispatch = z
  .object({
    weight: z
      .number()
      .describe('The share of the workers, in proportion to other tenants. 1 unless an operator sets it'),
    maxRuns: MaxRuns.describe('Runs that workers have at once, in force: the lower of the next two. Null: no limit'),
    grantedMaxRuns: MaxRuns.describe('As operators of the deployment grant it'),
    ownMaxRuns: MaxRuns.describe('As the tenant has set it'),
  })
  .meta({ id: 'Dispatch', description: 'How runs of a tenant take turns with others', examples: [exampleDispatch] });

export const DispatchGrant = z
  .object({
    weight: z.number().min(0.01).max(100).optional().describe('1 is that of every tenant'),
    maxRuns: MaxRuns.optional().describe('Null: no limit'),
  })
  .meta({ id: 'DispatchGrant', examples: [{ weight: 2, maxRuns: 50 }] });

export const DispatchUpdate = z
  .object({ maxRuns: MaxRuns.optional().describe('Null: as many as operators grant') })
  .meta({ id: 'DispatchUpdate', examples: [{ maxRuns: 20 }] });
