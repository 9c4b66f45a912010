/** A NATS server for tests: loopback, nothing kept, gone with whoever started it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Found, findProgram } from './debian-programs.ts';
import { freePort } from './ports.ts';
import { endChild, hasExited, tiedToParent } from './processes.ts';

export interface EmbeddedNats extends AsyncDisposable {
  readonly port: number;
  kill9(): Promise<void>;
  /** Starts it again on the same port. */
  restart(): Promise<void>;
}

export function findNats(): Promise<Found> {
  return findProgram(['nats-server'], 'nats-server');
}

/** `config` is the text of its configuration file. */
export async function startNats({ dir, config = '' }: { dir: string; config?: string }): Promise<EmbeddedNats> {
  const found = await findNats();
  if (found.path === null) throw new Error(`There is no NATS: ${found.reason}.`);
  const program = found.path;
  const port = await freePort();
  const file = join(dir, `nats-${port}.conf`);
  await mkdir(dir, { recursive: true });
  await writeFile(file, config);
  const start = () => launch([program, '-a', '127.0.0.1', '-p', String(port), '-c', file], port);
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
  while (!(await answers(port))) {
    if (hasExited(child)) throw new Error('NATS did not start');
    await sleep(10);
  }
  return child;
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    const [greeting] = await once(socket, 'data');
    return String(greeting).startsWith('INFO');
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
