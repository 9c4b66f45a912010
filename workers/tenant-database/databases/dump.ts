import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { settingsAgainstOwner, type TenantServer } from '../servers/servers.ts';
import type { OwnDatabase } from './owner-role.ts';

const exec = promisify(execFile);

/** Throws unless both programs are there, and as new as both servers. */
export async function requirePrograms(folder: string, servers: readonly TenantServer[]): Promise<void> {
  const versions = await Promise.all(
    servers.map(async ({ name, admin }) => {
      const { rows } = await admin.query<{ version: number }>(
        `select current_setting('server_version_num')::int / 10000 as version`,
      );
      return { name, version: rows[0]?.version ?? 0 };
    }),
  );
  for (const program of ['pg_dump', 'pg_restore']) {
    const version = await versionOf(program, folder);
    for (const server of versions)
      if (version < server.version)
        throw new Error(
          `${program} is of PostgreSQL ${version}, and the server "${server.name}" of PostgreSQL ${server.version}: set PG_BIN to the folder of a newer one`,
        );
  }
}

async function versionOf(program: string, folder: string): Promise<number> {
  const path = join(folder, program);
  const { stdout } = await exec(path, ['--version'], { env: environment }).catch((cause: unknown) => {
    throw new Error(
      `${path} cannot be executed; install PostgreSQL's client programs, or set PG_BIN to the folder that has them`,
      { cause },
    );
  });
  return Number(/(\d+)(\.\d+|devel|beta\d+|rc\d+)/.exec(stdout)?.[1] ?? 0);
}

/** Environment of the programs. In the container image their libraries are in a folder of their own. */
const environment = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  LC_ALL: 'C',
  LD_LIBRARY_PATH: '/usr/local/pgsql/lib',
};

interface Copy {
  from: TenantServer;
  to: TenantServer;
  database: OwnDatabase;
  programs: string;
  signal: AbortSignal;
}

/**
 * Copies the database to the other server by streaming a dump, without a file. The deployment's role reads it, because the tenant's role
 * may not sign in; the tenant's role restores it, because restoring runs functions of the tenant.
 */
export async function copyDatabase({ from, to, database, ...how }: Copy): Promise<void> {
  const dump = await startDump(from, database, how);
  const restore = startRestore(to, database, how);
  // If a program fails, the pipeline fails, too. Its error is ignored, because the program's own message says more.
  const copied = Promise.all([pipeline(dump.output, restore.input).catch(() => undefined), dump.ended, restore.ended]);
  await copied.catch((error: Error) => {
    throw new Error(`nothing was moved: ${error.message}`, { cause: error });
  });
}

interface Program {
  /** Folder of the programs. */
  programs: string;
  signal: AbortSignal;
}

/** Starts `pg_dump` as the deployment's role. `ended` fails with what the program has said. */
export async function startDump(
  server: TenantServer,
  { databaseName }: Pick<OwnDatabase, 'databaseName'>,
  { programs, signal, compress = 1 }: Program & { compress?: number },
): Promise<{ output: Readable; ended: Promise<void> }> {
  const env = connectionOf(server.url, {
    database: databaseName,
    settings: await settingsAgainstOwner(server.admin),
  });
  const args = ['--format=custom', `--compress=${compress}`, '--no-owner', '--no-privileges'];
  const { child, ended } = start(join(programs, 'pg_dump'), args, { env, signal });
  return { output: child.stdout, ended };
}

/** Starts `pg_restore` as the tenant's role, in one transaction. `ended` fails with what the program has said. */
export function startRestore(
  server: TenantServer,
  { databaseName, roleName, password }: OwnDatabase,
  { programs, signal }: Program,
): { input: Writable; ended: Promise<void> } {
  const env = connectionOf(server.url, { database: databaseName, user: roleName, password });
  const args = ['--no-owner', '--no-privileges', '--exit-on-error', '--single-transaction', `--dbname=${databaseName}`];
  const { child, ended } = start(join(programs, 'pg_restore'), args, { env, signal });
  return { input: child.stdin, ended };
}

function start(path: string, args: string[], { env, signal }: { env: Record<string, string>; signal: AbortSignal }) {
  const child = spawn(path, args, { env, signal, stdio: ['pipe', 'pipe', 'pipe'] });
  let stderrText = '';
  child.stderr.on('data', (text) => {
    stderrText = `${stderrText}${text}`.slice(-2_000);
  });
  async function end(): Promise<void> {
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`${path} failed. It said:\n${stderrText.trim()}`);
  }
  return { child, ended: end() };
}

/** Environment variables with address and credentials, since arguments are visible to other users of the machine. */
function connectionOf(
  url: string,
  {
    database,
    user,
    password,
    settings = '',
  }: { database: string; user?: string; password?: string; settings?: string },
): Record<string, string> {
  const { hostname, port, username, password: own, searchParams } = new URL(url);
  const sslrootcert = searchParams.get('sslrootcert');
  return {
    ...environment,
    ...(sslrootcert && { PGSSLROOTCERT: sslrootcert }),
    PGHOST: searchParams.get('host') ?? decodeURIComponent(hostname),
    PGPORT: port || '5432',
    PGDATABASE: database,
    PGUSER: user ?? decodeURIComponent(username),
    PGPASSWORD: password ?? decodeURIComponent(own),
    PGSSLMODE: searchParams.get('sslmode') ?? 'prefer',
    // Values in the dump have to be exact, also those of the type money, and a statement may take as long as it needs.
    PGOPTIONS: `${settings} -c lc_monetary=C -c statement_timeout=0 -c idle_in_transaction_session_timeout=0`,
  };
}
