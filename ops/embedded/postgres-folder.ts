/** The folder of an embedded Postgres: `data/` is the cluster, `password` the key to it, `port` where it was last found. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { codeOf, readIfThere, syncFolder } from './files.ts';
import type { ServiceUser } from './service-user.ts';

export const role = 'gantry';
/** In the folder of Gantry, for the server of tenants' databases. */
export const TENANT_POSTGRES_FOLDER = 'tenants';
const major = '18';

export interface Binaries {
  readonly postgres: string;
  readonly initdb: string;
}

/** Whether the folder is missing or empty. */
export async function isFresh(dir: string): Promise<boolean> {
  try {
    return (await readdir(dir)).length === 0;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return true;
    throw error;
  }
}

export interface FolderOptions {
  user: ServiceUser;
  binaries: Binaries;
  fsync: string;
  /** Whether it is for databases of tenants. */
  forTenants: boolean;
  /** Whether the role may read the log of changes. */
  replicates: boolean;
  password?: string | undefined;
}

const tenantServerScript = join(import.meta.dirname, '../tenant-server.sql');

/** Creates the folder under another name and renames it when it is complete, so a crash leaves no half of it. */
export async function createFolder(
  dir: string,
  { user, binaries, fsync, forTenants, replicates, password = randomBytes(24).toString('hex') }: FolderOptions,
): Promise<void> {
  const draft = `${dir}.new`;
  const data = join(draft, 'data');
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  await user.own(draft);

  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const options = [
    '--username=postgres',
    '--auth=trust',
    '--no-instructions',
    ...(fsync === 'off' ? ['--no-sync'] : []),
  ];
  await runAs(user, [binaries.initdb, '-D', data, ...options, ...locale]);
  await runAs(
    user,
    [binaries.postgres, '--single', '-j', '-D', data, '-c', `fsync=${fsync}`, forTenants ? 'template1' : 'postgres'],
    forTenants
      ? `${await readFile(tenantServerScript, 'utf8')}${setPassword(password)}`
      : createRole(password, { replicates }),
  );
  await write(user, join(data, 'pg_hba.conf'), 'host all all 127.0.0.1/32 scram-sha-256\n');
  await write(user, join(draft, 'password'), password);

  await rename(draft, dir);
  await syncFolder(dirname(dir));
}

/** The address of the folder's server while it runs; undefined if the folder never had one. */
export async function findURL(dir: string, database: string): Promise<string | undefined> {
  const [port, password] = await Promise.all([readIfThere(join(dir, 'port')), readIfThere(join(dir, 'password'))]);
  return port && password && `postgres://${role}:${password}@127.0.0.1:${port.trim()}/${database}`;
}

/** Throws if the folder was not made by createFolder, or if this version of Postgres cannot open it. */
export async function checkFolder(dir: string): Promise<void> {
  const version = (await readIfThere(join(dir, 'data', 'PG_VERSION')))?.trim();
  const advice = 'or move it away to start afresh';
  if (version === undefined) {
    throw new Error(`${dir} is broken: data/PG_VERSION is missing; restore it from a backup, ${advice}.`);
  }
  if (version !== major) {
    throw new Error(
      `${dir} was written by PostgreSQL ${version}, and this Gantry brings PostgreSQL ${major}; dump and restore it, ${advice}.`,
    );
  }
  if ((await readIfThere(join(dir, 'password'))) === undefined) {
    throw new Error(
      `${dir} is broken: the file 'password', without which its data cannot be read, is missing; restore it, ${advice}.`,
    );
  }
}

/**
 * The superuser has no password, so it cannot connect. Were our role a superuser, an injected COPY … TO PROGRAM would run with the
 * rights of the server process.
 */
function createRole(password: string, { replicates }: { replicates: boolean }): string {
  return `CREATE ROLE ${role} LOGIN CREATEDB CREATEROLE ${replicates ? 'REPLICATION ' : ''}PASSWORD '${password}';\n\n`;
}

function setPassword(password: string): string {
  return `ALTER ROLE ${role} PASSWORD '${password}';\n\n`;
}

async function runAs(user: ServiceUser, command: readonly string[], input = ''): Promise<void> {
  const [program = '', ...args] = user.command('KILL', command);
  const running = promisify(execFile)(program, args, { cwd: '/', env: serverEnvironment });
  running.child.stdin?.end(input);
  await running;
}

async function write(user: ServiceUser, path: string, text: string): Promise<void> {
  await writeFile(path, text, { mode: 0o600, flush: true });
  await user.own(path);
}

/** A fixed environment: PGPORT or PGOPTIONS of this process must not reach the server. */
export const serverEnvironment = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
