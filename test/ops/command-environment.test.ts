import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { writeAddress } from '#ops/embedded/address.ts';
import { commandEnvironment } from '#ops/embedded/command-environment.ts';

afterEach(() => vi.unstubAllEnvs());

test('a command beside a Gantry with a given Postgres knows where its users sign in', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'gantry-command-'));
  try {
    await using _address = await writeAddress(dir, { url: 'http://127.0.0.1:1', signInAt: 'https://gantry.test' });
    const given = { GANTRY_HOME: dir, DATABASE_URL: 'postgres://given/gantry', SECRETS_KEYS: '', PUBLIC_URL: '' };
    for (const [name, value] of Object.entries({ ...given, AUTH: '', AUTH_ISSUER: '' })) vi.stubEnv(name, value);

    expect(await commandEnvironment()).toMatchObject({
      DATABASE_URL: 'postgres://given/gantry',
      AUTH: 'builtin',
      PUBLIC_URL: 'https://gantry.test',
    });

    vi.stubEnv('AUTH_ISSUER', 'https://login.test');
    expect((await commandEnvironment()).AUTH, 'a provider that is given comes first').toBe('');
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
