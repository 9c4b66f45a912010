import { execFile, spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommandLine } from '#ops/cli/program.ts';
import { onPath } from '../servers/debian-programs.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { aListener, anApiKey, anOperator, aTenant, aWorkflow, type TestTenant } from '../support/factories.ts';
import { code, graph, noops } from '../support/graphs.ts';
import { startHTTP } from '../support/http-server.ts';
import { nodeEnvironment } from '../support/process.ts';
import { paramFixture } from '../support/route-fixtures.ts';
import { eventually } from '../support/settle.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
let cluster: Cluster;
let tenant: TestTenant;
let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'gantry-cli-'));
  cluster = await startCluster({ workers: ['workflow.runs', 'workflow.plans'] });
  tenant = await aTenant(cluster, { tenantTitle: 'Northwind' });
});
afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

/** Runs a command in a terminal and returns its output; each answer is typed as soon as the next of its questions is shown. */
function typing(command: string, steps: readonly (readonly [RegExp, string])[], env: Record<string, string>) {
  const terminal = spawn('script', ['-qec', command, '/dev/null'], { env: nodeEnvironment({ TERM: 'dumb', ...env }) });
  const left = [...steps];
  let shown = '';
  let since = 0;
  terminal.stdout.on('data', (bytes) => {
    shown += bytes;
    const [question, answer = ''] = left[0] ?? [];
    if (!question?.test(shown.slice(since))) return;
    left.shift();
    since = shown.length;
    terminal.stdin.write(answer);
  });
  return new Promise<string>((resolve) => {
    const timeout = setTimeout(() => resolve(`${shown}still open`), 40_000);
    terminal.once('close', (code) => resolve(`${shown}ended with ${code}`));
    terminal.once('close', () => clearTimeout(timeout));
  }).finally(() => terminal.kill());
}

interface Ended {
  code: number;
  out: string;
  notes: string;
}

/** A command in this process, as the creator of the tenant unless other settings are given. `given`: what is typed, or who reads lines. */
async function gantry(
  words: string[],
  env: Record<string, string> = {},
  given: string | ((line: string) => void) = '',
): Promise<Ended> {
  const out: string[] = [];
  const notes: string[] = [];
  const world = {
    env: {
      XDG_CONFIG_HOME: dir,
      GANTRY_URL: cluster.baseURL,
      GANTRY_TENANT: tenant.id,
      GANTRY_TOKEN: await cluster.tokenFor(tenant.creator),
      ...env,
    },
    line: typeof given === 'string' ? (text: string) => void out.push(text) : given,
    note: (text: string) => void notes.push(text),
    readSecret: async () => String(given),
  };
  const exitCode = await runCommandLine(words, world);
  return { code: exitCode, out: out.join('\n'), notes: notes.join('\n') };
}

const linesOf = (out: string) => out.split('\n').map((line) => JSON.parse(line));

async function json(words: string[], env: Record<string, string> = {}, parse = JSON.parse) {
  const { code: exitCode, out, notes } = await gantry([...words, '--json'], env);
  if (exitCode !== 0) throw new Error(`${words.join(' ')}: ${exitCode} ${notes}`);
  return parse(out);
}

/** The program that `npm link` puts on the path. */
async function binOfRoot(): Promise<string> {
  const { bin } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  return join(root, bin.gantry);
}

const permissions = [
  'workflow.list',
  'workflow.create',
  'workflow.read',
  'workflow.update',
  'workflow.execute',
] as const;

/** A pipeline: it signs in with a key, saves a workflow from its folder, runs it, reads the output, and sees a failure. */
const pipeline = `
gantry() { "$NODE" "$BIN" "$@"; }
printf '%s\\n' "$KEY" | gantry sign-in --url "$URL" --tenant "$TENANT"
gantry workflows push flows --json
gantry workflows run "Double" --arg n=21 --watch > output.json 2> progress.txt
cat output.json
sed -i 's/return.*/throw new Error("no stock");/' flows/double/code/double.js
if gantry workflows run "Double" --args '{"n":12345678901234567890.5}' 2> refused.txt; then exit 9; fi
gantry workflows push flows
if gantry workflows run "Double" --arg n=1 --wait 2> failure.txt; then exit 9; else echo "ended with $?"; fi
gantry workflows run "Double" --wait > /dev/null
`;

test('a pipeline saves a workflow from its folder, runs it, reads its output, and fails when the run fails', async () => {
  const key = await anApiKey(cluster, { tenant, can: permissions });
  const end = { type: 'end', outputParameters: [{ name: 'doubled', sourceVariable: '{{ctx.doubled}}' }] };
  const flow = graph(
    { start: { type: 'start' }, double: code('return ctx.input.n * 2;', { outputVariable: 'doubled' }), end },
    ['start>double', 'double>end'],
  );
  const source = await aWorkflow(cluster, { tenant, title: 'Double', nodes: flow.nodes, edges: flow.edges });
  await gantry(['workflows', 'pull', source.id, '--dir', join(dir, 'flows')]);
  const file = join(dir, 'flows/double/workflow.json');
  await writeFile(file, (await readFile(file, 'utf8')).replace(/ {2}"workflowID".*\n/, ''));
  await cluster.as(tenant.creator).in(tenant).delete(`T/workflows/${source.id}`);

  const settings = { KEY: key.key, URL: cluster.baseURL, TENANT: tenant.id, NODE: process.execPath };
  const env = nodeEnvironment({ ...settings, BIN: await binOfRoot(), XDG_CONFIG_HOME: join(dir, 'ci'), HOME: dir });
  const ended = await new Promise<Ended>((resolve) => {
    execFile('sh', ['-e', '-c', pipeline], { cwd: dir, env }, (error, out, notes) =>
      resolve({ code: Number(error?.code ?? 0), out, notes }),
    );
  });

  expect(ended, ended.notes).toMatchObject({ code: 1, out: expect.stringContaining('ended with 1') });
  expect(ended.out).toContain('"action": "create"');
  expect(await readFile(join(dir, 'output.json'), 'utf8')).toContain('42');
  expect(await readFile(join(dir, 'refused.txt'), 'utf8')).toContain('--args: 12345678901234567890.5 is more than');
  expect(await readFile(join(dir, 'progress.txt'), 'utf8')).toMatch(/SUCCESS +double .*42[\s\S]*COMPLETED/);
  expect(await readFile(join(dir, 'failure.txt'), 'utf8')).toContain('no stock');
  const { mode } = await stat(join(dir, 'ci/gantry/profiles.json'));
  expect(mode & 0o777).toBe(0o600);
});

test('a file with a number that would be rounded is refused by its name', async () => {
  const number = '12345678901234567890.5';
  const bundle = join(dir, 'rounded.json');
  const workflow = join(dir, 'rounded/workflow.json');
  await mkdir(join(dir, 'rounded'));
  for (const file of [bundle, workflow])
    await writeFile(file, `{"bundleVersion":1,"items":[],"title":"T","n":${number}}`);

  const planned = await gantry(['bundles', 'plan', bundle]);
  const pushed = await gantry(['workflows', 'push', join(dir, 'rounded')]);

  expect([planned.code, pushed.code]).toEqual([2, 2]);
  expect(planned.notes).toContain(`${bundle}: ${number} is more than`);
  expect(pushed.notes).toContain(`${workflow}: ${number} is more than`);
});

test('help has examples and the exit codes', async () => {
  const { out } = await gantry(['--help']);
  const examples = await Promise.all(
    [['sign-in'], ['workflows', 'pull'], ['workflows', 'push'], ['workflows', 'run'], ['runs', 'rerun']].map(
      async (words) => (await gantry([...words, '--help'])).out,
    ),
  );

  expect(out).toMatch(/Exit codes:\n {2}0 {2}done[\s\S]*Examples:\n {2}gantry sign-in/);
  for (const text of examples) expect(text).toMatch(/Examples?:\n {2}gantry /);
});

test('the root of the repository, whose sources no program can import, is not packed by mistake', async () => {
  const packed = await new Promise<string>((resolve) => {
    execFile('npm', ['pack', '--dry-run'], { cwd: root }, (error, out, notes) =>
      resolve(`${error?.code} ${out}${notes}`),
    );
  });

  expect(packed).toMatch(/^1 [\s\S]*npm pack \.\/ops\/client/);
});

describe('runs', () => {
  test('are listed, shown, explained, repeated and cancelled', async () => {
    const nodes = graph({ start: { type: 'start' }, wait: { type: 'delay', delayMinutes: 60 } }, ['start>wait']);
    const { id } = await aWorkflow(cluster, { tenant, title: 'Waits', ...nodes });
    const { instanceID } = await json(['workflows', 'run', 'Waits', '--tag', 'a']);
    await cluster.settle();

    const [listed] = await json(['runs', 'list', '--workflow', id, '--tag', 'a']);
    const why = await gantry(['runs', 'why', instanceID]);
    const shown = await gantry(['runs', 'show', instanceID]);
    const logs = await gantry(['runs', 'logs', instanceID]);
    const following = gantry(['runs', 'logs', instanceID, '--follow']);
    const cancelled = await gantry(['runs', 'cancel', instanceID]);
    const watched = await gantry(['runs', 'watch', instanceID]);
    const again = await gantry(['runs', 'rerun', instanceID, '--json']);

    expect(listed).toMatchObject({ instanceID, status: 'WAITING', workflowTitle: 'Waits' });
    expect(why.out).toMatch(/^WAITING\n/);
    expect(shown.out).toMatch(/NODE +STATUS[\s\S]*wait +SUSPENDED/);
    const followed = await following;
    expect(followed).toMatchObject({ code: 0, out: expect.stringContaining(logs.out) });
    const lines = followed.out.split('\n');
    expect(lines.length).toBeGreaterThan(logs.out.split('\n').length);
    expect(new Set(lines).size).toBe(lines.length);
    expect([logs.code, cancelled]).toMatchObject([0, { code: 0, out: 'CANCELLED' }]);
    expect(watched).toMatchObject({ code: 1, notes: expect.stringContaining('CANCELLED') });
    expect(JSON.parse(again.out).instanceID).not.toBe(instanceID);
  });

  test('that have failed are explained by their causes', async () => {
    const failing = graph({ start: { type: 'start' }, bad: code('throw new Error("no stock")') }, ['start>bad']);
    const { id } = await aWorkflow(cluster, { tenant, title: 'Fails', ...failing });
    const failed = await gantry(['workflows', 'run', id, '--wait', '--json']);
    const { instanceID } = JSON.parse(failed.out);

    expect(failed).toMatchObject({ code: 1 });
    expect((await gantry(['runs', 'why', instanceID])).out).toMatch(/FAILED\nNODE_FAILED: .*no stock.*\(node bad\)/);
  });

  test('are waited for no longer than asked', async () => {
    const late = await gantry(['workflows', 'run', 'Waits', '--wait', '--timeout', '1']);

    expect(late).toMatchObject({ code: 4, notes: expect.stringContaining('TIMEOUT') });
  });
});

describe('workflows', () => {
  test('are unchanged when what was pulled is pushed, and only then', async () => {
    const flow = graph({ start: { type: 'start' }, 'a b': code('return 1'), c: code('return 2') }, [
      'start>c',
      'c>a b',
    ]);
    const { id } = await aWorkflow(cluster, { tenant, title: 'Ärger & Söhne', ...flow });
    const folder = join(dir, 'pulled/arger-sohne');
    await gantry(['workflows', 'pull', id, '--dir', join(dir, 'pulled')]);
    const text = await readFile(join(folder, 'workflow.json'), 'utf8');

    const same = await json(['workflows', 'push', folder]);
    await writeFile(join(folder, 'code/c.js'), 'return 3');
    const planned = await json(['workflows', 'push', 'Ärger & Söhne', '--dir', join(dir, 'pulled'), '--dry-run']);
    const unknown = await gantry(['workflows', 'push', 'Unknown', '--dir', join(dir, 'pulled')]);
    const changed = await json(['workflows', 'push', folder]);
    await gantry(['workflows', 'pull', id, '--dir', join(dir, 'pulled')]);

    expect([same, planned, changed].map(([{ action }]) => action)).toEqual(['unchanged', 'update', 'update']);
    expect(unknown).toMatchObject({ code: 2, notes: expect.stringContaining('has no workflow with this title or id') });
    expect(await readFile(join(folder, 'code/c.js'), 'utf8')).toBe('return 3');
    expect(await readFile(join(folder, 'workflow.json'), 'utf8')).toBe(text);
  });

  test('are written by hand, with code in files or not, and are unchanged when they are pushed again', async () => {
    const title = `By hand ${Date.now()}`;
    const folder = join(dir, 'by-hand');
    const { nodes: workflowNodes, edges: workflowEdges } = graph(
      { start: { type: 'start' }, a: { type: 'javascript', code: { file: 'code/a.js' } }, b: code('return 2') },
      ['start>a', 'a>b'],
    );
    await mkdir(join(folder, 'code'), { recursive: true });
    await writeFile(join(folder, 'code/a.js'), 'return 1');
    await writeFile(join(folder, 'workflow.json'), JSON.stringify({ title, workflowNodes, workflowEdges }));
    const push = async () => (await json(['workflows', 'push', folder]))[0].action;

    const actions = [await push(), await push()];
    await writeFile(join(folder, 'code/a.js'), 'return 2');
    actions.push(await push(), await push());

    expect(actions).toEqual(['create', 'unchanged', 'update', 'unchanged']);
  });

  test('are not read from outside of their folder', async () => {
    const { id } = await aWorkflow(cluster, { tenant, title: 'Sly', ...noops(1) });
    await gantry(['workflows', 'pull', id, '--dir', dir]);
    const file = join(dir, 'sly/workflow.json');
    const stored = JSON.parse(await readFile(file, 'utf8'));
    stored.workflowNodes[0].data.code = { file: 'code/../../../etc/hostname.js' };
    await writeFile(file, JSON.stringify(stored));

    expect(await gantry(['workflows', 'push', join(dir, 'sly')])).toMatchObject({ code: 2, out: '' });
  });
});

test('dead letters, cron jobs, bundles and the audit trail are at hand', async () => {
  const own = await aTenant(cluster, { creator: tenant.creator });
  const other = await aTenant(cluster, { creator: tenant.creator });
  const listener = await aListener(cluster, { tenant: own });
  const cronJobID = await paramFixture('cronJobID')(cluster, own);
  const title = 'A cron job';
  const file = join(dir, 'bundle.json');
  const here = { GANTRY_TENANT: own.id };
  const there = { GANTRY_TENANT: other.id };

  expect(await json(['dead-letters', 'list', listener.id], here)).toEqual([]);
  expect(await gantry(['dead-letters', 'redrive', listener.id], here)).toMatchObject({ code: 0 });
  expect(await json(['cron'], here)).toMatchObject([{ cronJobID, state: 'scheduled' }]);
  expect(await gantry(['cron', 'pause', title], here)).toMatchObject({ code: 0 });
  expect(await json(['cron', 'list'], here)).toMatchObject([{ state: 'paused' }]);
  expect(await gantry(['cron', 'resume', title], here)).toMatchObject({ code: 0 });
  expect(await gantry(['cron', 'run', title], here)).toMatchObject({ code: 0 });
  expect(await gantry(['bundles', 'export', file, '--types', 'workflow,cronJob'], here)).toMatchObject({ code: 0 });
  expect((await gantry(['bundles', 'plan', file], there)).out).toMatch(
    /ACTION[\s\S]*create +workflow[\s\S]* 0 in conflict/,
  );
  expect(await gantry(['bundles', 'apply', file], there)).toMatchObject({ code: 0 });
  expect((await gantry(['bundles', 'plan', file], there)).out).toContain('0 to create, 0 to update');
  await eventually(async () => {
    const { out } = await gantry(['audit', 'tail', '--limit', '3'], here);
    expect(out.split('\n')).toHaveLength(3);
  });
});

test('the audit trail is followed with each entry once, in the order of time', async () => {
  const own = await aTenant(cluster, { creator: tenant.creator });
  const add = (folderTitle: string) =>
    cluster.as(own.creator).in(own).post('T/folders', { entityType: 'workflow', folderTitle });
  await add('before');
  const env = { GANTRY_TENANT: own.id };
  await eventually(async () => expect(await json(['audit', 'tail'], env, linesOf)).toHaveLength(1));
  const lines: string[] = [];
  const enough = new Error('enough');
  const following = gantry(['audit', 'tail', '--follow', '--json'], env, (line) => {
    lines.push(line);
    if (lines.length === 3) throw enough;
  });
  await eventually(() => expect(lines).toHaveLength(1));
  await add('first');
  await add('second');

  expect((await following).notes).toBe('enough');
  const entries = lines.map((line) => JSON.parse(line));
  expect(entries).toMatchObject(Array.from({ length: 3 }, () => ({ path: expect.stringContaining('/folders') })));
  const times = entries.map(({ createdAt }) => createdAt);
  expect(times).toEqual(times.toSorted());
  expect(new Set(entries.map(({ auditLogID }) => auditLogID)).size).toBe(3);
});

test('an operator signs in with a password, and sees the deployment and no tenant', async () => {
  const { email } = await anOperator(cluster, { password: 'correct horse battery' });
  const env = { XDG_CONFIG_HOME: join(dir, 'on-call'), GANTRY_TOKEN: '', GANTRY_TENANT: '', GANTRY_URL: '' };
  const signIn = ['sign-in', '--url', cluster.baseURL, '--operator', email];

  const wrong = await gantry(signIn, env, 'wrong horse battery');
  const signedIn = await gantry(signIn, env, 'correct horse battery');
  const fleet = await gantry(['fleet'], env);
  const tenants = await gantry(['fleet', 'tenants', '--search', 'northwind', '--json'], env);
  const backlog = await gantry(['fleet', 'tenant', tenant.id], env);

  expect([wrong.code, signedIn.code, fleet.code, backlog.code]).toEqual([3, 0, 0, 0]);
  expect(fleet.out).toMatch(/QUEUE +CLASS[\s\S]*WORKER +STATE[\s\S]* live /);
  expect(JSON.parse(tenants.out)).toMatchObject([{ tenantID: tenant.id, tenantTitle: 'Northwind' }]);
  expect(backlog.out).toContain('runs of at most');
  expect(await gantry(['workflows', 'list', '--tenant', tenant.id], env)).toMatchObject({ code: 3 });
  expect(await gantry(['fleet'])).toMatchObject({ code: 3 });
});

describe('a command ends with', () => {
  test.each([
    ['2 if it is not known', ['workflow'], {}, 2],
    ['2 if an option is wrong', ['runs', 'list', '--limit', '0'], {}, 2],
    ['2 if no tenant is named', ['runs', 'list'], { GANTRY_TENANT: '' }, 2],
    ['3 without a valid token', ['tenants'], { GANTRY_TOKEN: 'x' }, 3],
    ['3 in a tenant of others', ['runs'], { GANTRY_TENANT: '01990d3e-5c00-7a10-8000-000000000009' }, 3],
    ['4 if nothing answers', ['tenants'], { GANTRY_URL: 'http://127.0.0.1:1' }, 4],
    ['5 if there is no such run', ['runs', 'show', '01990d3e-5c00-7a10-8000-000000000009'], {}, 5],
    ['0 if help is asked for', ['runs', '--help'], {}, 0],
    ['0 if the version is asked for', ['--version'], {}, 0],
  ])('%s', async (_what, words, env: Record<string, string>, expected) => {
    const { code: exitCode, out, notes } = await gantry(words, env);

    expect({ exitCode, says: (out + notes).length > 0 }).toEqual({ exitCode: expected, says: true });
  });
});

test('a profile remembers who signed in, for its own service alone', async () => {
  const env = { XDG_CONFIG_HOME: join(dir, 'profiles'), GANTRY_TOKEN: '', GANTRY_TENANT: '', GANTRY_URL: '' };
  const key = await anApiKey(cluster, { tenant, can: ['workflow.list'] });
  const signedIn = await gantry(['sign-in', '--url', cluster.baseURL, '--tenant', tenant.id], env, key.key);
  const named = await gantry(
    ['sign-in', '--profile', 'dev', '--url', cluster.baseURL, '--email', tenant.creator.email],
    env,
  );
  await chmod(join(env.XDG_CONFIG_HOME, 'gantry/profiles.json'), 0o644);
  const chosen = await gantry(['tenants', 'use', tenant.id, '--profile', 'default'], env);

  expect([signedIn, named, chosen].map((ended) => [ended.code, ended.code ? ended.notes : ''])).toEqual([
    [0, ''],
    [0, ''],
    [0, ''],
  ]);
  expect((await gantry(['workflows', 'list'], env)).code).toBe(0);
  await using stranger = await startHTTP();
  await gantry(['workflows', 'list', '--url', stranger.origin, '--tenant', tenant.id], env);
  expect(stranger.seen.map(({ headers }) => headers['x-api-key'] ?? headers.authorization)).toEqual([undefined]);
  expect((await gantry(['profiles'], env)).out).toMatch(/dev .*token[\s\S]*\* +default .*API key/);
  expect((await stat(join(env.XDG_CONFIG_HOME, 'gantry/profiles.json'))).mode & 0o777).toBe(0o600);
  await gantry(['sign-out'], env);
  expect((await gantry(['tenants', '--profile', 'default'], { ...env, GANTRY_URL: cluster.baseURL })).code).toBe(3);
});

test('a key that is typed is not shown', async () => {
  const { key } = await anApiKey(cluster, { tenant, can: ['workflow.list'] });
  const MAIN = fileURLToPath(new URL('../../ops/cli/main.ts', import.meta.url));
  const XDG_CONFIG_HOME = join(dir, 'typed');
  const shown = await typing(
    `${process.execPath} ${MAIN} sign-in --url ${cluster.baseURL} --tenant ${tenant.id}`,
    [[/API key: /, `${key}\n`]],
    { XDG_CONFIG_HOME },
  );

  expect(shown).toMatch(/API key: [\s\S]*Signed in at [\s\S]*ended with 0$/);
  expect(shown).not.toContain(key);
  expect(await readFile(join(XDG_CONFIG_HOME, 'gantry/profiles.json'), 'utf8')).toContain(key);
});

test('shells are told what may come next', async () => {
  const next = async (line: string) => (await gantry(['complete-words'], { COMP_LINE: line })).out.split('\n');

  expect(await next('gantry ru')).toEqual(['runs']);
  expect(await next('gantry runs w')).toEqual(['why', 'watch']);
  expect(await next('gantry workflows run x --w')).toEqual(['--watch', '--wait']);
  expect((await gantry(['completion', 'bash'])).out).toContain('complete-words');
});

describe.each([
  ['bash', '--norc --noprofile -i', `PS1='ready> '`],
  ['zsh', '-f -i', `PS1='ready> '; unset zle_bracketed_paste; unsetopt prompt_cr prompt_sp`],
  ['fish', '--no-config -i', `function fish_prompt; printf 'ready> '; end`],
])('in %s', (shell, flags, setPrompt) => {
  test('the tab key completes commands', async ({ skip }) => {
    const path = await onPath(shell);
    if (!path) skip(`there is no ${shell} on the PATH`);
    const own = join(dir, `path-${shell}`);
    await mkdir(own, { recursive: true });
    await symlink(await binOfRoot(), join(own, 'gantry')).catch(() => undefined);
    const env = { HOME: own, XDG_CONFIG_HOME: own };
    const evaluate = shell === 'fish' ? 'gantry completion fish | source' : `eval "$(gantry completion ${shell})"`;
    const steps = [
      [/./, `${setPrompt}\n`],
      [/ready> $/, `${evaluate}\n`],
      [/ready> $/, 'gantry dead-letters red\t'],
      // The line is deleted again.
      [/redrive/, '\u0015exit\n'],
    ] as const;

    expect(await typing(`PATH="${own}:$PATH" ${path} ${flags}`, steps, env)).toMatch(
      /gantry dead-letters redrive[\s\S]*ended with/,
    );
  });
});
