import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Deployment, startDeployment } from '../support/deployment.ts';
import { nodeEnvironment } from '../support/process.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment();
});
afterAll(() => deployment[Symbol.asyncDispose]());

async function run(program: string, settings: Record<string, string>) {
  const env = nodeEnvironment({
    ...deployment.env,
    LOG_LEVEL: 'info',
    PORT: '0',
    BOARD_PORT: '0',
    MCP_PORT: '0',
    ...settings,
  });
  const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'exit');
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await ended;
  return { code, out, err };
}

test('a wrong password of the database is one line of every program', async () => {
  const url = new URL(deployment.env.DATABASE_URL ?? '');
  // The server asks for no password of databases of tests.
  url.pathname = '/postgres';
  url.password = 'wrong';
  const programs = [
    'api/main.ts',
    'workers/main.ts',
    'api/mcp/main.ts',
    'ops/board.ts',
    'ops/migrate.ts',
    'ops/rotate-secrets.ts',
  ];

  for (const program of programs) {
    const { code, out, err } = await run(program, { DATABASE_URL: url.href });

    expect(code, program).toBe(1);
    expect(err.trimEnd().split('\n'), program).toEqual([
      expect.stringContaining(
        'DATABASE_URL: Postgres refuses the user name or the password (password authentication failed',
      ),
    ]);
    expect(out, program).not.toContain(' at ');
  }
});

test('a setting that is wrong, and a queue that does not exist, are one line', async () => {
  const wrong = await run('api/main.ts', { PORT: 'none' });
  expect(wrong.err.trimEnd().split('\n')).toEqual([expect.stringMatching(/^The API did not start: .*PORT/)]);
});
