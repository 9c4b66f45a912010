import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLogger } from '#shared/logger.ts';

test('what holds a secret by its name, or a URL with a password in an error, is not written', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'gantry-logger-'));
  try {
    const path = join(dir, 'log');
    const file = await open(path, 'a');
    const logger = createLogger({ level: 'trace' }, {}, file.fd);
    const url = 'postgres://app:t0psecret@db.example.com/app';
    const cause = new Error('connect to redis://:t0psecret@cache:6379 failed');

    logger.info({ tenantDBURL: url, body: { tenantDBURL: url, a: { password: 't0psecret' } } }, 'fields');
    logger.info(
      { SECRETS_KEYS: 'k1:t0psecret', headers: { authorization: 't0psecret', cookie: 't0psecret' } },
      'names',
    );
    logger.error({ err: new Error(`cannot reach ${url}?x=y`, { cause }) }, 'error');
    await file.close();

    const log = await readFile(path, 'utf8');
    expect(log).not.toContain('t0psecret');
    expect(log).toContain('postgres://[REDACTED]@db.example.com/app?x=y');
    expect(log.trim().split('\n')).toHaveLength(3);
  } finally {
    await rm(dir, { recursive: true });
  }
});
