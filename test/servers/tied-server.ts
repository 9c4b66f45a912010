import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { endChild, hasExited, tiedToParent } from '#ops/embedded/processes.ts';

/** A server that is one process on one port of loopback, and ended with the process that started it. */
export interface TiedServer extends AsyncDisposable {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
  kill9(): Promise<void>;
  /** Stops it if it runs, and starts it again on the same port. */
  restart(): Promise<void>;
}

interface TiedServerOptions {
  /** Name of the server in error messages. */
  name: string;
  program: string;
  args: readonly string[];
  port: number;
  /** Where its output goes. */
  log: string;
  /** Reply that shows it is ready, and the request that asks for it. */
  greeting?: { say?: string; hear: string };
}

export async function startTiedServer(options: TiedServerOptions): Promise<TiedServer> {
  let child = await launch(options);
  const stop = () => endChild(child, ['SIGTERM', 'SIGKILL']);
  return {
    port: options.port,
    get pid() {
      return child.pid ?? 0;
    },
    stop,
    kill9: () => endChild(child, ['SIGKILL']),
    async restart() {
      await stop();
      child = await launch(options);
    },
    [Symbol.asyncDispose]: stop,
  };
}

async function launch({ name, program, args, port, log, greeting }: TiedServerOptions): Promise<ChildProcess> {
  const [command = '', ...line] = tiedToParent('KILL', [program, ...args]);
  await using file = await open(log, 'a');
  const child = spawn(command, line, { detached: true, stdio: ['ignore', file.fd, file.fd] });
  await once(child, 'spawn');
  while (!(await isReady(port, greeting))) {
    if (hasExited(child)) throw new Error(`${name} did not start; it said:\n${await endOf(log)}`);
    await sleep(10);
  }
  return child;
}

async function isReady(port: number, greeting: TiedServerOptions['greeting']): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    if (!greeting) return true;
    if (greeting.say) socket.write(greeting.say);
    const [heard] = await once(socket, 'data');
    return String(heard).startsWith(greeting.hear);
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function endOf(log: string): Promise<string> {
  return (await readFile(log, 'utf8')).trim().split('\n').slice(-5).join('\n');
}
