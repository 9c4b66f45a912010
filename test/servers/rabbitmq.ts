/** A RabbitMQ for tests: loopback, its files in a folder of the test's, ended with the process that started it. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { glob, mkdir, open, readFile, realpath, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from '#ops/embedded/ports.ts';
import { endChild, hasExited, tiedToParent } from '#ops/embedded/processes.ts';
import { type Found, findProgram } from './debian-programs.ts';

const exec = promisify(execFile);

export interface EmbeddedRabbitMQ extends AsyncDisposable {
  readonly port: number;
  /** Port of the listener with TLS; 0 without certificates. */
  readonly tlsPort: number;
  kill9(): Promise<void>;
  /** Starts it again on the same ports with the same files. */
  restart(): Promise<void>;
}

export interface RabbitMQOptions {
  dir: string;
  user: string;
  password: string;
  certificates?: { certificate: string; key: string };
}

/** Finds the Erlang runtime that comes with RabbitMQ, which is itself no program. */
export function findRabbitMQ(): Promise<Found> {
  return findProgram(['erlexec'], 'rabbitmq-server', async (path) => {
    const installation = await findInstallation(path);
    await exec(path, ['+V'], { env: environmentOf(installation) });
  });
}

export async function startRabbitMQ(options: RabbitMQOptions): Promise<EmbeddedRabbitMQ> {
  const found = await findRabbitMQ();
  if (found.path === null) throw new Error(`There is no RabbitMQ: ${found.reason}.`);
  const [port, tlsPort, nodePort, namesPort] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
  const server: Server = { ...(await findInstallation(found.path)), ...options, port, tlsPort, nodePort, namesPort };
  await configure(server);
  // Nodes find one another through epmd. Our own one keeps the node from starting one that outlives it.
  const names = await spawnTied([join(server.runtime, 'bin', 'epmd'), '-port', String(namesPort)], server);
  const stop = (child: ChildProcess) => endChild(child, ['SIGTERM', 'SIGKILL']);
  let child = await launch(server);
  return {
    port,
    tlsPort: options.certificates ? tlsPort : 0,
    kill9: () => endChild(child, ['SIGKILL']),
    async restart() {
      await stop(child);
      child = await launch(server);
    },
    async [Symbol.asyncDispose]() {
      await stop(child);
      await stop(names);
    },
  };
}

interface Installation {
  program: string;
  /** Folders of Erlang's programs and libraries. */
  root: string;
  runtime: string;
  home: string;
}

interface Server extends Installation, RabbitMQOptions {
  port: number;
  tlsPort: number;
  nodePort: number;
  namesPort: number;
}

async function findInstallation(program: string): Promise<Installation> {
  const folder = join(dirname(await realpath(program)), '..', 'root', 'usr', 'lib');
  const root = join(folder, 'erlang');
  const [runtime] = await Array.fromAsync(glob('erts-*', { cwd: root }));
  const [home] = await Array.fromAsync(glob('rabbitmq/lib/rabbitmq_server-*', { cwd: folder }));
  if (!runtime || !home) throw new Error(`There are no files of RabbitMQ beside ${program}`);
  return { program, root, runtime: join(root, runtime), home: join(folder, home) };
}

/** Variables that the scripts of an installed Erlang set. */
function environmentOf({ root, runtime }: Installation): NodeJS.ProcessEnv {
  return { ...process.env, ROOTDIR: root, BINDIR: join(runtime, 'bin'), EMU: 'beam', PROGNAME: 'erl' };
}

async function configure({ dir, user, password, certificates, tlsPort }: Server): Promise<void> {
  await mkdir(dir, { recursive: true });
  const lines = [`default_user = ${user}`, `default_pass = ${password}`, 'loopback_users = none'];
  if (certificates) {
    const files = { certificate: join(dir, 'cert.pem'), key: join(dir, 'key.pem') };
    await writeFile(files.certificate, certificates.certificate);
    await writeFile(files.key, certificates.key);
    lines.push(`listeners.ssl.1 = 127.0.0.1:${tlsPort}`, `ssl_options.certfile = ${files.certificate}`);
    lines.push(`ssl_options.keyfile = ${files.key}`, 'ssl_options.verify = verify_none');
  }
  await writeFile(join(dir, 'rabbitmq.conf'), `${lines.join('\n')}\n`);
}

async function launch(server: Server): Promise<ChildProcess> {
  const before = (await readLog(server)).length;
  const boot = ['-noinput', '-s', 'rabbit', 'boot', '-boot', 'start_sasl', '+W', 'w', '+sbwt', 'none'];
  const quiet = ['-syslog', 'logger', '[]', '-syslog', 'syslog_error_logger', 'false'];
  const alone = ['-start_epmd', 'false', '-kernel', 'inet_dist_use_interface', '{127,0,0,1}'];
  const child = await spawnTied([server.program, ...boot, ...quiet, ...alone], server);
  while (!(await readLog(server)).slice(before).includes('Server startup complete')) {
    if (hasExited(child)) throw new Error(`RabbitMQ did not start; it said:\n${(await readLog(server)).slice(-2_000)}`);
    await sleep(50);
  }
  return child;
}

/** Settings that an installed RabbitMQ would read from its folders. */
async function spawnTied(line: string[], server: Server): Promise<ChildProcess> {
  const { dir, home, port, nodePort, namesPort } = server;
  const env = {
    ...environmentOf(server),
    HOME: dir,
    ERL_LIBS: join(home, 'plugins'),
    ERL_EPMD_PORT: String(namesPort),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    ERL_CRASH_DUMP: '/dev/null',
    SYS_PREFIX: '',
    RABBITMQ_HOME: home,
    RABBITMQ_PLUGINS_DIR: join(home, 'plugins'),
    RABBITMQ_NODENAME: `gantry${port}@localhost`,
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(nodePort),
    RABBITMQ_CONF_ENV_FILE: join(dir, 'none'),
    RABBITMQ_CONFIG_FILE: join(dir, 'rabbitmq.conf'),
    RABBITMQ_ADVANCED_CONFIG_FILE: join(dir, 'advanced.config'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(dir, 'plugins'),
    RABBITMQ_GENERATED_CONFIG_DIR: join(dir, 'generated'),
    RABBITMQ_FEATURE_FLAGS_FILE: join(dir, 'feature-flags'),
    RABBITMQ_MNESIA_BASE: join(dir, 'mnesia'),
    RABBITMQ_PID_FILE: join(dir, 'pid'),
    RABBITMQ_LOG_BASE: dir,
    RABBITMQ_LOGS: '-',
  };
  const [command = '', ...args] = tiedToParent('KILL', line);
  await using log = await open(logOf(server), 'a');
  const child = spawn(command, args, { env, cwd: dir, detached: true, stdio: ['ignore', log.fd, log.fd] });
  await once(child, 'spawn');
  return child;
}

function logOf({ dir }: Server): string {
  return join(dir, 'rabbitmq.log');
}

async function readLog(server: Server): Promise<string> {
  return await readFile(logOf(server), 'utf8').catch(() => '');
}
