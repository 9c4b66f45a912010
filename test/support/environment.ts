import { createLogger } from '#shared/logger.ts';

/** Set by `npm test` (ops/run-tests.ts): the servers this run may use, and which backplane the pass is about. */
export const testServers = {
  databaseURL: required('TEST_DATABASE_URL'),
  redisURL: process.env.GANTRY_TEST_BACKPLANE === 'redis' ? required('TEST_REDIS_URL') : undefined,
};

export const testLogger = createLogger({ level: (process.env.TEST_LOG_LEVEL as 'warn' | undefined) ?? 'silent' });

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run the tests with "npm test -- <file>"`);
  return value;
}
