/** Debian's PostgreSQL 15 for tests: older than the embedded one, and with pg_dump and pg_restore, which that lacks. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, chmod, mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '#ops/embedded/ports.ts';
import { endChild, hasExited } from '#ops/embedded/processes.ts';
import { type ServiceUser, serviceUserFor } from '#ops/embedded/service-user.ts';
import { type Found, unpackProgram } from './debian-programs.ts';

const exec = promisify(execFile);
const installed = '/usr/lib/postgresql/15/bin';

/** The folder of its programs. Those of an unpacked package need `librariesOf`. */
export async function findPostgres15(): Promise<Found> {
  const isInstalled = await access(join(installed, 'initdb')).then(
    () => true,
    () => false,
  );
  if (isInstalled) return { path: installed };
  const found = await unpackProgram('initdb', 'postgresql-15', (path) => exec(path, ['--version']));
  if (found.path === null) return found;
  return { path: join(dirname(found.path), '../root', installed) };
}

/** A folder with a pg_dump and a pg_restore that find their libraries, as installed ones do. */
export async function writePrograms(dir: string, bin: string): Promise<string> {
  await mkdir(dir, { recursive: true });
  for (const program of ['pg_dump', 'pg_restore']) {
    const script = `#!/bin/sh\nexport LD_LIBRARY_PATH="${librariesOf(bin)}"\nexec "${join(bin, program)}" "$@"\n`;
    await writeFile(join(dir, program), script);
    await chmod(join(dir, program), 0o755);
  }
  return dir;
}

/** Libraries of the packages that were unpacked together with it. */
function librariesOf(bin: string): string {
  return ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map((folder) => join(bin, '../../..', folder)).join(':');
}

export interface Postgres15 extends AsyncDisposable {
  /** As the role `gantry`, on a server prepared by ops/tenant-server.sql. */
  readonly url: string;
}

export async function startPostgres15({ dir, bin }: { dir: string; bin: string }): Promise<Postgres15> {
  const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', LD_LIBRARY_PATH: librariesOf(bin) };
  await mkdir(dir, { recursive: true });
  const user = await serviceUserFor(dir, '/bin/true');
  await user.own(dir);
  const data = join(dir, 'data');
  const run = async (program: string, args: string[], input = '') => {
    const [command = '', ...rest] = user.command('KILL', [join(bin, program), ...args]);
    const running = exec(command, rest, { cwd: '/', env });
    running.child.stdin?.end(input);
    await running;
  };
  await run('initdb', ['-D', data, '-U', 'postgres', '--auth=trust', '--no-sync', '-E', 'UTF8', '--locale=C']);
  const script = await readFile('ops/tenant-server.sql', 'utf8');
  await run(
    'postgres',
    ['--single', '-j', '-D', data, 'template1'],
    `${script}alter role gantry password 'known';\n\n`,
  );

  const port = await freePort();
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'fsync=off',
    'max_prepared_transactions=5',
  ];
  const log = join(dir, 'log');
  const child = await launch([join(bin, 'postgres'), '-D', data, ...settings.flatMap((one) => ['-c', one])], {
    user,
    env,
    log,
  });
  while (!(await readFile(log, 'utf8')).includes('ready to accept connections')) {
    if (hasExited(child)) throw new Error(`PostgreSQL 15 did not start:\n${await readFile(log, 'utf8')}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    url: `postgres://gantry:known@127.0.0.1:${port}/postgres`,
    [Symbol.asyncDispose]: () => endChild(child, ['SIGINT', 'SIGKILL']),
  };
}

async function launch(
  command: string[],
  { user, env, log }: { user: ServiceUser; env: Record<string, string>; log: string },
): Promise<ChildProcess> {
  await using file = await open(log, 'a');
  const [program = '', ...args] = user.command('INT', command);
  const child = spawn(program, args, { cwd: '/', env, detached: true, stdio: ['ignore', file.fd, file.fd] });
  await once(child, 'spawn');
  return child;
}
