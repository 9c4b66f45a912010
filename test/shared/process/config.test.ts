import { expect, test } from 'vitest';
import { readConfig } from '#shared/process/config.ts';

const env = {
  DATABASE_URL: 'postgres://localhost:5432/gantry',
  SECRETS_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
};

test('a deployment whose least retention of the audit trail is above its most does not start', () => {
  const days = (least: string, most: string) =>
    readConfig({ ...env, AUDIT_RETENTION_MIN_DAYS: least, AUDIT_RETENTION_MAX_DAYS: most });

  expect(days('30', '30').production).toBe(false);
  expect(() => days('31', '30')).toThrow('AUDIT_RETENTION_MIN_DAYS must not be above AUDIT_RETENTION_MAX_DAYS');
});
