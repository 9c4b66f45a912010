import type { Logger } from '../../core/logger.ts';
import type { Backplane, BackplaneConfig } from './types.ts';

export type { Allowance, Backplane, JobWorker, Limiter, Messages } from './types.ts';

/** Chooses the backplane: Redis if it has a URL, otherwise Postgres. No other code chooses. Loads only its packages. */
export async function createBackplane(config: BackplaneConfig, logger: Logger): Promise<Backplane> {
  if (config.redis) return (await import('./redis.ts')).createRedisBackplane(config, config.redis, logger);
  return (await import('./postgres.ts')).createPostgresBackplane(config, logger);
}
