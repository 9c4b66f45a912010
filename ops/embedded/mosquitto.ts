/** An MQTT broker for tests: loopback, nothing kept, gone with whoever started it. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Found, findProgram } from './debian-programs.ts';
import { freePort } from './ports.ts';
import { endChild, hasExited, tiedToParent } from './processes.ts';

export interface EmbeddedMosquitto extends AsyncDisposable {
  readonly port: number;
  kill9(): Promise<void>;
  /** Starts it again on the same port. */
  restart(): Promise<void>;
}

export function findMosquitto(): Promise<Found> {
  return findProgram(['mosquitto'], 'mosquitto', printsHelp);
}

/** It tells its version among its help only, and ends with an error after that. */
async function printsHelp(path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  execFile(path, ['-h'], (error, stdout) => (stdout.startsWith('mosquitto version') ? resolve() : reject(error)));
  await promise;
}

/** `config` is the text of its configuration file, without the listener; `listener` are lines for that. */
export async function startMosquitto(options: {
  dir: string;
  config?: string;
  listener?: string;
}): Promise<EmbeddedMosquitto> {
  const found = await findMosquitto();
  if (found.path === null) throw new Error(`There is no Mosquitto: ${found.reason}.`);
  const program = found.path;
  const port = await freePort();
  const file = join(options.dir, `mosquitto-${port}.conf`);
  await mkdir(options.dir, { recursive: true });
  // As root it would become another user, who cannot read the folder.
  const lines = ['user root', options.config, `listener ${port} 127.0.0.1`, options.listener, ''];
  await writeFile(file, lines.filter((line) => line !== undefined).join('\n'));
  const start = () => launch([program, '-c', file], port);
  let child = await start();
  return {
    port,
    kill9: () => endChild(child, ['SIGKILL']),
    async restart() {
      await endChild(child, ['SIGTERM', 'SIGKILL']);
      child = await start();
    },
    [Symbol.asyncDispose]: () => endChild(child, ['SIGTERM', 'SIGKILL']),
  };
}

async function launch(line: string[], port: number): Promise<ChildProcess> {
  const [command = '', ...args] = tiedToParent('KILL', line);
  const child = spawn(command, args, { detached: true, stdio: 'ignore' });
  await once(child, 'spawn');
  while (!(await listens(port))) {
    if (hasExited(child)) throw new Error('Mosquitto did not start');
    await sleep(10);
  }
  return child;
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
