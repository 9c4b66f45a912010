/** A MariaDB for tests: loopback, its files in a folder of the test's, ended with the process that started it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { freePort } from '#ops/embedded/ports.ts';
import { endChild, hasExited, tiedToParent } from '#ops/embedded/processes.ts';
import { type Found, findProgram } from './debian-programs.ts';

export interface EmbeddedMariaDB extends AsyncDisposable {
  readonly port: number;
  /** A superuser, from loopback. */
  readonly user: string;
  readonly password: string;
  /** `kill -9`, and it stays down until `restart`. */
  kill9(): Promise<void>;
  /** Stops it if it runs, and starts it on the same port with the same files. */
  restart(): Promise<void>;
}

export interface MariaDBOptions {
  dir: string;
  /** Further settings of the server, without dashes. */
  settings?: Readonly<Record<string, string>>;
}

export function findMariaDB(): Promise<Found> {
  return findProgram(['mariadbd', 'mysqld'], 'mariadb-server-core');
}

export async function startMariaDB({ dir, settings = {} }: MariaDBOptions): Promise<EmbeddedMariaDB> {
  const found = await findMariaDB();
  if (found.path === null) throw new Error(`There is no MariaDB: ${found.reason}.`);
  const server: Server = { program: found.path, share: await shareOf(found.path), dir, log: join(dir, 'mariadb.log') };
  await mkdir(join(dir, 'data'), { recursive: true });
  await createTables(server);

  const port = await freePort();
  const start = () => launch(server, { port: String(port), ...settings });
  let child = await start();
  const stop = () => endChild(child, ['SIGTERM', 'SIGKILL']);
  return {
    port,
    user: USER,
    password: PASSWORD,
    kill9: () => endChild(child, ['SIGKILL']),
    async restart() {
      await stop();
      child = await start();
    },
    [Symbol.asyncDispose]: stop,
  };
}

interface Server {
  program: string;
  /** Folder of the package's messages and of the SQL of its system tables. */
  share: string;
  dir: string;
  log: string;
}

const USER = 'root';
const PASSWORD = 'mariadb secret';

/** Beside the program, wherever the package was unpacked. */
async function shareOf(program: string): Promise<string> {
  const folder = dirname(await realpath(program));
  for (const candidate of ['../root/usr/share/mysql', '../share/mysql', '../share/mariadb']) {
    const share = join(folder, candidate);
    if (await stat(join(share, 'mariadb_system_tables.sql')).catch(() => undefined)) return share;
    if (await stat(join(share, 'mysql_system_tables.sql')).catch(() => undefined)) return share;
  }
  throw new Error(`There are no files of MariaDB beside ${program}.`);
}

/** Does the work of `mariadb-install-db`, a script that contains the paths of an installed server. */
async function createTables(server: Server): Promise<void> {
  const files = ['system_tables', 'performance_tables', 'system_tables_data'];
  const texts = await Promise.all(files.map((name) => readSQL(server.share, name)));
  const access = [
    'DELETE FROM mysql.global_priv;',
    'FLUSH PRIVILEGES;',
    `CREATE USER '${USER}'@'%' IDENTIFIED BY '${PASSWORD}';`,
    `GRANT ALL ON *.* TO '${USER}'@'%' WITH GRANT OPTION;`,
  ];
  const sql = ['CREATE DATABASE IF NOT EXISTS mysql;', 'USE mysql;', ...texts, ...access, ''].join('\n');
  await writeFile(join(server.dir, 'bootstrap.sql'), sql);
  await using input = await open(join(server.dir, 'bootstrap.sql'));
  const child = await spawnServer(server, ['--bootstrap'], input.fd);
  if (!hasExited(child)) await once(child, 'exit');
  if (child.exitCode !== 0) throw new Error(`MariaDB could not make its tables; it said:\n${await said(server)}`);
}

async function readSQL(share: string, name: string): Promise<string> {
  const text = await readFile(join(share, `mariadb_${name}.sql`), 'utf8').catch(() => undefined);
  return text ?? (await readFile(join(share, `mysql_${name}.sql`), 'utf8'));
}

async function launch(server: Server, settings: Readonly<Record<string, string>>): Promise<ChildProcess> {
  const logged = (await readLog(server)).length;
  const options = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
  const child = await spawnServer(server, ['--bind-address=127.0.0.1', '--skip-name-resolve', ...options], 'ignore');
  while (!(await readLog(server)).slice(logged).includes('ready for connections')) {
    if (hasExited(child)) throw new Error(`MariaDB did not start; it said:\n${await said(server)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return child;
}

/** Durability is off; running as root needs an explicit option. */
async function spawnServer(
  { program, share, dir, log }: Server,
  options: readonly string[],
  input: number | 'ignore',
): Promise<ChildProcess> {
  const folder = [`--datadir=${join(dir, 'data')}`, `--lc-messages-dir=${join(share, 'english')}`, `--tmpdir=${dir}`];
  const own = [`--socket=${join(dir, 'mariadb.sock')}`, `--pid-file=${join(dir, 'mariadb.pid')}`];
  const sets = [`--character-sets-dir=${join(share, 'charsets')}`, '--plugin-dir=/nonexistent'];
  const light = ['--innodb-flush-log-at-trx-commit=0', '--innodb-buffer-pool-size=64M', '--skip-log-bin'];
  const user = process.getuid?.() === 0 ? ['--user=root'] : [];
  const command = [program, '--no-defaults', ...user, ...folder, ...own, ...sets, ...light, ...options];
  const [executable = '', ...args] = tiedToParent('KILL', command);
  await using file = await open(log, 'a');
  const child = spawn(executable, args, { detached: true, stdio: [input, file.fd, file.fd] });
  await once(child, 'spawn');
  return child;
}

async function readLog({ log }: Server): Promise<string> {
  return await readFile(log, 'utf8').catch(() => '');
}

async function said(server: Server): Promise<string> {
  return (await readLog(server)).trim().split('\n').slice(-8).join('\n');
}
