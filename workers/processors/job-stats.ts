import { createTenantLabel, Tally, type TenantLabel } from '#shared/core/counter.ts';

/** Jobs of this worker that have ended, for metrics. */
export interface JobStats {
  readonly ended: Tally<'queue' | 'outcome'>;
  readonly seconds: Tally<'queue'>;
  readonly tenant: TenantLabel;
}

export function createJobStats(tenantIDs: readonly string[] = []): JobStats {
  return { ended: new Tally(), seconds: new Tally(), tenant: createTenantLabel(tenantIDs) };
}
