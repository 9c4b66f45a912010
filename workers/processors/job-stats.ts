import { Counter, createTenantLabel, type TenantLabel } from '#shared/core/counter.ts';

/** Jobs of this worker that have ended, for metrics. */
export interface JobStats {
  readonly ended: Counter<'queue' | 'outcome'>;
  readonly seconds: Counter<'queue'>;
  readonly tenant: TenantLabel;
}

export function createJobStats(tenantIDs: readonly string[] = []): JobStats {
  return { ended: new Counter(), seconds: new Counter(), tenant: createTenantLabel(tenantIDs) };
}
