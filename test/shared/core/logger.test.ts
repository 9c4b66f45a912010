import { spawnSync } from 'node:child_process';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLogger, type Logger } from '#shared/core/logger.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'gantry-logger-'));
});
afterEach(() => rm(dir, { recursive: true }));

/** Log output of `write`. */
async function logged(write: (logger: Logger) => void): Promise<string> {
  const path = join(dir, 'log');
  const file = await open(path, 'a');
  write(createLogger({ level: 'trace' }, {}, file.fd));
  await file.close();
  return readFile(path, 'utf8');
}

test('secrets are not written: fields with secret names, and URLs with passwords in errors', async () => {
  const url = 'postgres://app:t0psecret@db.example.com/app';
  const cause = new Error('connect to redis://:t0psecret@cache:6379 failed');

  const log = await logged((logger) => {
    logger.info({ tenantDBURL: url, body: { tenantDBURL: url, a: { password: 't0psecret' } } }, 'fields');
    logger.info(
      { SECRETS_KEYS: 'k1:t0psecret', headers: { authorization: 't0psecret', cookie: 't0psecret' } },
      'names',
    );
    logger.error({ err: new Error(`cannot reach ${url}?x=y`, { cause }) }, 'error');
  });

  expect(log).not.toContain('t0psecret');
  expect(log).toContain('postgres://[REDACTED]@db.example.com/app?x=y');
  expect(log.trim().split('\n')).toHaveLength(3);
});

test.each([
  'authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'password',
  'token',
  'secret',
  'key',
  'apiKey',
  'connectionString',
  'tenantDBURL',
])('%s is not written at any depth', async (name) => {
  const log = await logged((logger) => {
    let fields: object = { [name]: ['t0psecret'], beside: 'shown' };
    for (let depth = 0; depth <= 4; depth += 1) {
      logger.info(fields, 'line');
      logger.child(fields).info('bound');
      fields = { inside: fields };
    }
  });

  expect(log).not.toContain('t0psecret');
  expect(log.match(/"beside":"shown"/g)).toHaveLength(10);
});

test('properties of an error and of its causes are not written', async () => {
  const carried = {
    config: { headers: { authorization: 't0psecret', 'x-api-key': 't0psecret' }, password: 't0psecret' },
    response: { headers: { 'set-cookie': ['session=t0psecret'] } },
    client: { connectionParameters: { password: 't0psecret', connectionString: 't0psecret' } },
  };
  const cause = Object.assign(new Error('401 from upstream'), carried, { code: 'ERR_BAD_REQUEST' });

  const log = await logged((logger) => {
    logger.error({ err: Object.assign(new Error('with properties'), carried) }, 'error');
    logger.error(Object.assign(new Error('by itself'), carried));
    logger.error({ err: new Error('with a cause', { cause }) }, 'cause');
    logger.error({ err: new Error('with a cause that is no error', { cause: carried }) }, 'object as cause');
    logger.error({ err: carried }, 'thrown object');
    logger.error({ err: 'cannot reach redis://:t0psecret@cache:6379' }, 'thrown text');
  });

  expect(log).not.toContain('t0psecret');
  for (const shown of ['with properties', 'by itself', 'ERR_BAD_REQUEST', 'no error', 'redis://[REDACTED]@cache'])
    expect(log).toContain(shown);
});

/** In its own process, because waiting would block this one. */
test('a fatal line that cannot be written does not block the exit', () => {
  const script = `
    import { createLogger } from '#shared/core/logger.ts';
    const logger = createLogger({ level: 'trace' }, {}, 99);
    logger.fatal('lost');
    logger.fatal('lost as well');
    console.log('went on');`;

  const options = { cwd: join(import.meta.dirname, '../../..'), encoding: 'utf8', timeout: 10_000 } as const;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], options);

  expect(stdout).toBe('went on\n');
});
