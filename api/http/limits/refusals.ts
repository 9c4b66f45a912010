import { Counter, type TenantLabel } from '#shared/core/counter.ts';
import type { AppError } from '#shared/core/errors.ts';

/** Counts what clients were refused: sign-ins and tokens (401), permissions (403), rate limits and quotas (429). */
export interface Refusals {
  note(error: Pick<AppError, 'code' | 'status' | 'reason'>, tenantID?: string): void;
  readonly counts: Counter<'code' | 'reason'>;
}

const refusing: ReadonlySet<number> = new Set([401, 403, 429]);

export function createRefusals(tenant: TenantLabel): Refusals {
  const counts = new Counter<'code' | 'reason'>();
  return {
    counts,
    note({ code, status, reason = 'other' }, tenantID) {
      if (refusing.has(status)) counts.add({ code, reason, ...tenant.of(tenantID) });
    },
  };
}
