/** A NATS server for tests: loopback, nothing kept, ended with the process that started it. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '#ops/embedded/ports.ts';
import { type Found, findProgram } from './debian-programs.ts';
import { startTiedServer, type TiedServer } from './tied-server.ts';

export function findNats(): Promise<Found> {
  return findProgram(['nats-server'], 'nats-server');
}

/** `config` is the text of its configuration file. */
export async function startNats({ dir, config = '' }: { dir: string; config?: string }): Promise<TiedServer> {
  const found = await findNats();
  if (found.path === null) throw new Error(`There is no NATS: ${found.reason}.`);
  const port = await freePort();
  const file = join(dir, `nats-${port}.conf`);
  await mkdir(dir, { recursive: true });
  await writeFile(file, config);
  return startTiedServer({
    name: 'NATS',
    program: found.path,
    args: ['-a', '127.0.0.1', '-p', String(port), '-c', file],
    port,
    log: join(dir, `nats-${port}.log`),
    greeting: { hear: 'INFO' },
  });
}
