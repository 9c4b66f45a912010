/** The commands of the README beside an embedded Gantry, with no setting but its folder. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openHome } from '#ops/embedded/home.ts';
import { type EmbeddedPostgres, startPostgres } from '#ops/embedded/postgres.ts';
import { fingerprintOf } from '#shared/core/key-ring.ts';
import { nodeEnvironment } from '#test/support/process.ts';

let home: string;
let postgres: EmbeddedPostgres;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), `gantry-test-${process.pid}-`));
  await chmod(home, 0o755);
  await using _made = await openHome(home);
  postgres = await startPostgres({ dir: join(home, 'postgres'), database: 'gantry', log: join(home, 'postgres.log') });
  expect(await run(['migrate'], { DATABASE_URL: postgres.url })).toMatchObject({ code: 0 });
});
afterAll(async () => {
  await postgres[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
});

async function run(args: string[], env: Record<string, string>): Promise<{ code: number; out: string; err: string }> {
  const { HOME = '' } = process.env;
  const child = spawn('npm', ['run', '--silent', ...args], { env: nodeEnvironment({ HOME, ...env }) });
  child.stdin.end();
  const ended = once(child, 'exit');
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await ended;
  return { code, out, err };
}

test('enrols an operator in the Gantry of the folder', async () => {
  const { code, out } = await run(['enrol-operator', '--', 'create', 'ops@example.test'], { GANTRY_HOME: home });

  expect(code).toBe(0);
  expect(out).toContain('Operator ops@example.test created.');
});

test('encrypts secrets again with the key ring of the folder, and names the key by its fingerprint', async () => {
  const path = join(home, 'secrets-keys');
  const made = (await readFile(path, 'utf8')).trim();
  const [id = '', text = ''] = made.split(':');
  expect(id).toBe(fingerprintOf(Buffer.from(text, 'base64')));
  const first = await run(['rotate-secrets'], { GANTRY_HOME: home });
  expect(first).toMatchObject({ code: 0 });
  expect(first.out).toContain(`"keyID":"${id}"`);

  await writeFile(path, `next:${Buffer.alloc(32, 7).toString('base64')},${made}\n`);
  expect((await run(['rotate-secrets'], { GANTRY_HOME: home })).out).toContain('"keyID":"next"');

  // The file of an earlier version: the key alone, whose id is "embedded".
  await writeFile(path, `${text}\n`);
  expect((await run(['rotate-secrets'], { GANTRY_HOME: home })).out).toContain('"keyID":"embedded"');
  expect(await run(['rotate-secrets', '--', '--report'], { GANTRY_HOME: home })).toMatchObject({
    code: 0,
    out: expect.stringContaining('Every stored secret can be opened.'),
  });
  // Another key under the id of the first.
  await writeFile(path, `${Buffer.alloc(32, 8).toString('base64')}\n`);
  const other = fingerprintOf(Buffer.alloc(32, 8));
  expect((await run(['rotate-secrets'], { GANTRY_HOME: home })).out).toContain(`"keyID":"${other}"`);
});

test.each([['enrol-operator', '--', 'create', 'ops@example.test'], ['rotate-secrets']])(
  '%s reports that no Gantry is running in the folder',
  async (...command) => {
    const elsewhere = join(home, 'nothing');

    const { code, err } = await run(command, { GANTRY_HOME: elsewhere });

    expect(code).toBe(1);
    expect(err).toContain(`No Gantry is running in ${elsewhere}`);
    expect(err).not.toMatch(/^\s+at /m);
  },
);
