import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Pool } from '#shared/db/pool.ts';

/** Used by operations, beside the tenant's database, to store results that are too large for an answer. */
export interface OperationContext {
  tenantID: string;
  pool: Pool;
  secrets: KeyRing;
}
