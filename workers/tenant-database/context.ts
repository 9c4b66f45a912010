import type { KeyRing } from '#shared/crypto.ts';
import type { Pool } from '#shared/db/pool.ts';

/** What an operation may use beside the tenant's own database: for what is too large for an answer. */
export interface OperationContext {
  tenantID: string;
  pool: Pool;
  secrets: KeyRing;
}
