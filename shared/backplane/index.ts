import type { BackplaneConfig } from '../config.ts';
import type { Logger } from '../logger.ts';
import { createPostgresBackplane } from './postgres.ts';
import { createRedisBackplane } from './redis.ts';
import type { Backplane } from './types.ts';

export type { Backplane, JobWorker, Limiter, Messages } from './types.ts';

/** The one place that chooses: with a Redis URL everything goes over Redis, without one over Postgres. */
export function createBackplane(config: BackplaneConfig, logger: Logger): Backplane {
  return config.redis ? createRedisBackplane(config, config.redis, logger) : createPostgresBackplane(config, logger);
}
