import { required } from './environment.ts';

/**
 * Undefined on the Postgres backplane. A test file that imports this module itself runs on both
 * backplanes (ops/tools/test-files.ts); no other module may read these variables.
 */
export const redisURL = process.env.GANTRY_TEST_BACKPLANE === 'redis' ? required('TEST_REDIS_URL') : undefined;

/** Whether the other backplane has its turn in this run as well. */
export const hasOther = process.env.GANTRY_TEST_BACKPLANES?.includes(',') ?? false;
