import type { BackplaneConfig } from '../config.ts';
import type { Logger } from '../logger.ts';
import type { Backplane } from './types.ts';

export type { Backplane, JobWorker, Limiter, Messages } from './types.ts';

/**
 * The one place that chooses: with a Redis URL everything goes over Redis, without one over Postgres. Only the packages of
 * the chosen one are loaded.
 */
export async function createBackplane(config: BackplaneConfig, logger: Logger): Promise<Backplane> {
  if (config.redis) return (await import('./redis.ts')).createRedisBackplane(config, config.redis, logger);
  return (await import('./postgres.ts')).createPostgresBackplane(config, logger);
}
