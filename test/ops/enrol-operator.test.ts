import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { anOperator } from '#test/support/factories.ts';
import { nodeEnvironment } from '#test/support/process.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
});
afterAll(() => cluster[Symbol.asyncDispose]());

async function enrol(args: string[], stdin = ''): Promise<{ code: number; out: string; err: string }> {
  const child = spawn(process.execPath, ['ops/enrol-operator.ts', ...args], {
    env: nodeEnvironment(cluster.env),
  });
  child.stdin.end(stdin);
  const ended = once(child, 'exit');
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await ended;
  return { code, out, err };
}

function login(email: string, password: string) {
  return cluster.as(undefined).post('/api/v1/operator/auth/login', { email, password });
}

const me = (token: string) => cluster.asOperator({ token }).get('/api/v1/operator/auth/me');

async function recorded(email: string): Promise<string[]> {
  const { rows } = await cluster.pool.query(
    `select action from operator_audit a join operator o on o.id = a.operator_id where o.email = $1 order by a.created_at, a.id`,
    [email],
  );
  return rows.map(({ action }) => action);
}

const anEmail = () => `op-${newID()}@example.test`;

test('creates an operator with a password from standard input, which it does not print', async () => {
  const email = anEmail();

  const { code, out, err } = await enrol(['create', email.toUpperCase(), '--title', 'Ops'], 'correct horse battery\n');

  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).not.toContain('correct horse');
  const { status, body } = await login(email, 'correct horse battery');
  expect(status).toBe(200);
  expect(body.operator).toMatchObject({ email, operatorTitle: 'Ops' });
  expect(await enrol(['create', email], 'correct horse battery')).toMatchObject({
    code: 1,
    err: expect.stringContaining('already'),
  });
});

test('of two concurrent calls with the same address one reports a conflict', async () => {
  const email = anEmail();

  const both = await Promise.all([enrol(['create', email]), enrol(['create', email])]);

  expect(both.map(({ code }) => code).sort()).toEqual([0, 1]);
  expect(both.find(({ code }) => code === 1)).toMatchObject({
    out: '',
    err: `There is an operator ${email} already\n`,
  });
});

test('generates a password when none is given, and prints it once', async () => {
  const email = anEmail();

  const { code, out } = await enrol(['create', email]);

  const [, password = ''] = /^Password, shown this once: (\S+)$/m.exec(out) ?? [];
  expect(code).toBe(0);
  expect((await login(email, password)).status).toBe(200);
  expect(await recorded(email)).toEqual(['CREATED', 'LOGIN']);
});

test('resetting a password ends every session and invalidates the old password', async () => {
  const { email, password, token } = await anOperator(cluster);
  expect((await me(token)).status).toBe(200);

  const { code, out } = await enrol(['reset-password', email], 'the second password');

  expect(code).toBe(0);
  expect(out).toContain('1 sessions revoked');
  expect((await me(token)).status).toBe(401);
  expect((await login(email, password)).status).toBe(401);
  expect((await login(email, 'the second password')).status).toBe(200);
});

test('a disabled operator is signed out at once, and can sign in again when enabled', async () => {
  const { email, password, token } = await anOperator(cluster);

  expect((await enrol(['disable', email])).code).toBe(0);
  expect((await me(token)).status).toBe(401);
  expect((await login(email, password)).status).toBe(401);

  expect((await enrol(['enable', email])).code).toBe(0);
  expect((await me(token)).status).toBe(401);
  expect((await login(email, password)).status).toBe(200);
  expect(await recorded(email)).toEqual(['DISABLED', 'LOGIN_FAILED', 'ENABLED', 'LOGIN']);
});

test.each([
  [['promote', 'a@example.test'], '', 'usage:'],
  [['create', 'a@example.test', 'a password as argument'], '', 'usage:'],
  [['create', 'a@example.test', '--password', 'x'], '', '--password'],
  [['create', 'no address'], '', 'no e-mail address'],
  [['create', 'a@example.test'], 'short', '12'],
  [['reset-password', 'nobody@example.test'], 'a long enough password', 'no operator'],
])('%j is refused', async (args, stdin, complaint) => {
  const { code, err } = await enrol(args, stdin);

  expect(code).toBe(1);
  expect(err).toContain(complaint);
  expect(err).not.toMatch(/^\s+at /m);
});
