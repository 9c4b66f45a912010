/** A Redis for tests: loopback, nothing written to disk, gone with whoever started it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Found, findProgram } from './debian-programs.ts';
import { freePort } from './ports.ts';
import { endChild, hasExited, tiedToParent } from './processes.ts';

export interface EmbeddedRedis extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
  /** `kill -9`, and it stays down until `restart`. */
  kill9(): Promise<void>;
  /** Stops it if it runs, and starts it on the same port, empty. */
  restart(): Promise<void>;
}

export function findRedis(): Promise<Found> {
  return findProgram(['redis-server', 'valkey-server'], 'redis-server');
}

export async function startRedis(options: { dir: string; port?: number }): Promise<EmbeddedRedis> {
  const found = await findRedis();
  if (found.path === null) throw new Error(`There is no Redis: ${found.reason}.`);

  const port = options.port ?? (await freePort());
  await mkdir(options.dir, { recursive: true });
  let child = await launch(found.path, options.dir, port);
  const stop = () => endChild(child, ['SIGTERM', 'SIGKILL']);
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    get pid() {
      return child.pid ?? 0;
    },
    stop,
    kill9: () => endChild(child, ['SIGKILL']),
    async restart() {
      await stop();
      child = await launch(found.path, options.dir, port);
    },
    [Symbol.asyncDispose]: stop,
  };
}

async function launch(program: string, dir: string, port: number): Promise<ChildProcess> {
  const address = ['--bind', '127.0.0.1', '--port', String(port)];
  const disposable = ['--save', '', '--appendonly', 'no', '--dir', dir];
  const [command = '', ...args] = tiedToParent('KILL', [program, ...address, ...disposable]);

  const log = join(dir, `redis-${port}.log`);
  await using file = await open(log, 'a');
  const child = spawn(command, args, { detached: true, stdio: ['ignore', file.fd, file.fd] });
  await once(child, 'spawn');
  while (!(await answers(port))) {
    if (hasExited(child))
      throw new Error(
        `Redis did not start; it said:\n${(await readFile(log, 'utf8')).trim().split('\n').slice(-5).join('\n')}`,
      );
    await sleep(10);
  }
  return child;
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    socket.write('PING\r\n');
    const [reply] = await once(socket, 'data');
    return String(reply).startsWith('+PONG');
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
