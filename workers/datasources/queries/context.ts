import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Sandbox } from '../../sandbox/pool.ts';
import type { QueryCache } from './cache.ts';
import type { Datasources } from './datasources.ts';

/** Everything the stages of a data query use. */
export interface QueryContext {
  pool: Pool;
  secrets: KeyRing;
  datasources: Datasources;
  cache: QueryCache;
  sandbox: Sandbox;
  logger: Logger;
}
