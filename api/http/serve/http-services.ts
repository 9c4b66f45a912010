import type { MikroORM } from '@mikro-orm/postgresql';
import type { Policy } from '#shared/access/policy/policy.ts';
import type { MemoryBudget } from '#shared/concurrency/memory-budget.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Config } from '#shared/process/config.ts';
import type { AuditTrail } from '../../audit/trail.ts';
import type { Authenticator } from '../../auth/identify.ts';
import type { Operators } from '../../auth/operator-session.ts';
import type { RequestCount } from '../limits/rate-limit.ts';

/** The part of the context that serves every request, apart from the handler's own needs. */
export interface HttpServices {
  config: Pick<Config, 'http'>;
  logger: Logger;
  pool: Pool;
  orm: MikroORM;
  secrets: KeyRing;
  access: { authenticator: Authenticator; operators: Operators; policy: Policy };
  requests: { count: RequestCount; bytes: MemoryBudget; audit: AuditTrail };
}
