/** An MQTT broker for tests: loopback, nothing kept, ended with the process that started it. */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '#ops/embedded/ports.ts';
import { type Found, findProgram } from './debian-programs.ts';
import { startTiedServer, type TiedServer } from './tied-server.ts';

export function findMosquitto(): Promise<Found> {
  return findProgram(['mosquitto'], 'mosquitto', printsHelp);
}

/** Mosquitto prints its version only with its help, and exits with an error after that. */
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
}): Promise<TiedServer> {
  const found = await findMosquitto();
  if (found.path === null) throw new Error(`There is no Mosquitto: ${found.reason}.`);
  const port = await freePort();
  const file = join(options.dir, `mosquitto-${port}.conf`);
  await mkdir(options.dir, { recursive: true });
  // As root Mosquitto changes to another user, who cannot read the folder.
  const lines = ['user root', options.config, `listener ${port} 127.0.0.1`, options.listener, ''];
  await writeFile(file, lines.filter((line) => line !== undefined).join('\n'));
  const log = join(options.dir, `mosquitto-${port}.log`);
  return startTiedServer({ name: 'Mosquitto', program: found.path, args: ['-c', file], port, log });
}
