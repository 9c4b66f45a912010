import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv, promisify } from 'node:util';
import { expect, test } from 'vitest';
import { readConfig } from '#shared/process/config.ts';

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);

test('init.sh writes what compose needs, for its owner alone, and never twice', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'gantry-init-'));
  const file = join(dir, '.env');
  const init = (...args: string[]) =>
    run(join(root, 'ops/deploy/init.sh'), args, { env: { ...process.env, ENV_FILE: file } });
  try {
    await expect(init('http://gantry.example.com')).rejects.toMatchObject({ code: 1 });
    await init('https://gantry.example.com/');
    const text = await readFile(file, 'utf8');
    await expect(init('https://other.example.com')).rejects.toMatchObject({ stderr: expect.stringContaining('stays') });
    expect(await readFile(file, 'utf8')).toBe(text);
    expect((await stat(file)).mode & 0o777).toBe(0o600);

    const env = parseEnv(text);
    const compose = await readFile(join(root, 'docker-compose.yml'), 'utf8');
    const required = new Set([...compose.matchAll(/\$\{(\w+):\?/g)].map(([, name = '']) => name));
    expect([...required].filter((name) => !env[name])).toEqual([]);
    expect(new Set([env.POSTGRES_PASSWORD, env.TENANTS_PASSWORD, env.REDIS_PASSWORD]).size).toBe(3);
    const DATABASE_URL = `postgres://gantry:${env.POSTGRES_PASSWORD}@postgres/gantry`;
    const [, gateway = ''] = /gateway: '\$\{NETWORK:-([\d.]+)\}\.1'/.exec(compose) ?? [];
    expect(env.TRUSTED_PROXIES, 'the gateway alone').toBe(`${gateway}.1`);
    const { auth } = readConfig({ ...env, DATABASE_URL, NODE_ENV: 'production', AUTH: 'builtin' });
    expect(auth.issuer).toBe('https://gantry.example.com/sign-in');
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

test.each([
  ['is not there', undefined],
  ['fails', '#!/bin/sh\necho openssl: no source >&2\nexit 1\n'],
  ['says nothing', '#!/bin/sh\n'],
])('init.sh writes no file where openssl %s', async (_what, script) => {
  const dir = await mkdtemp(join(tmpdir(), 'gantry-init-'));
  const file = join(dir, '.env');
  try {
    for (const tool of ['cat', 'mv', 'dirname', 'sh']) await symlink(`/bin/${tool}`, join(dir, tool));
    if (script !== undefined) await writeFile(join(dir, 'openssl'), script, { mode: 0o755 });
    const init = run('/bin/sh', [join(root, 'ops/deploy/init.sh'), 'https://gantry.example.com'], {
      env: { ENV_FILE: file, PATH: dir },
    });

    await expect(init).rejects.toMatchObject({ stderr: expect.stringContaining('openssl') });
    expect((await readdir(dir)).filter((name) => name.startsWith('.env'))).toEqual([]);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
