import { createLogger } from '#shared/core/logger.ts';

/** Servers of the run, set by `npm test` (ops/tools/run-tests.ts). The backplane is in backplane.ts. */
export const testServers = {
  databaseURL: required('TEST_DATABASE_URL'),
  /** For tenants' datasources and databases of their own: workers connect no tenant to the deployment's server. */
  datasourceURL: required('TEST_DATASOURCE_URL'),
  /** For the databases that Gantry creates for tenants. */
  tenantsURL: required('TEST_TENANTS_URL'),
};

export const testLogger = createLogger({ level: (process.env.TEST_LOG_LEVEL as 'warn' | undefined) ?? 'silent' });

/** Settings of a test's deployment: key ring, and addresses that may be reached. */
export const testSecurity = {
  SECRETS_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
  OUTBOUND_ALLOW: '127.0.0.0/8,::1',
};

/** Public address of a test's deployment; only the test's own browser resolves it. */
export const publicURL = 'https://api.gantry.test';

/** An OAuth provider for tests that read its address and never call it. */
export const testOAuth = {
  PUBLIC_URL: publicURL,
  OAUTH_PROVIDERS: JSON.stringify({
    acme: {
      authorizationURL: 'https://acme.test/auth',
      tokenURL: 'https://acme.test/token',
      clientID: 'gantry',
      clientSecret: 'a secret',
    },
  }),
};

export function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run the tests with "npm test -- <file>"`);
  return value;
}
