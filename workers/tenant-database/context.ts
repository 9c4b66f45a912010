import type { KeyRing } from '#shared/crypto.ts';
import type { Pool } from '#shared/db/pool.ts';

/** What an operation needs beside the tenant's database, to store results that are too large for an answer. */
export interface OperationContext {
  tenantID: string;
  pool: Pool;
  secrets: KeyRing;
}
