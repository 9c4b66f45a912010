import { required } from './environment.ts';

/**
 * Undefined on the Postgres backplane. A test file that imports this module itself runs on both
 * backplanes (ops/tools/test-files.ts); no other module may read the two variables.
 */
export const redisURL = process.env.GANTRY_TEST_BACKPLANE === 'redis' ? required('TEST_REDIS_URL') : undefined;
