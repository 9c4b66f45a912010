/** A Redis for tests: loopback, nothing written to disk, empty after each start, ended with the process that started it. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '#ops/embedded/ports.ts';
import { type Found, findProgram } from './debian-programs.ts';
import { startTiedServer, type TiedServer } from './tied-server.ts';

export interface EmbeddedRedis extends TiedServer {
  readonly url: string;
}

export function findRedis(): Promise<Found> {
  return findProgram(['redis-server', 'valkey-server'], 'redis-server');
}

export async function startRedis(options: { dir: string; port?: number }): Promise<EmbeddedRedis> {
  const found = await findRedis();
  if (found.path === null) throw new Error(`There is no Redis: ${found.reason}.`);

  const port = options.port ?? (await freePort());
  await mkdir(options.dir, { recursive: true });
  const address = ['--bind', '127.0.0.1', '--port', String(port)];
  const disposable = ['--save', '', '--appendonly', 'no', '--dir', options.dir];
  const server = await startTiedServer({
    name: 'Redis',
    program: found.path,
    args: [...address, ...disposable],
    port,
    log: join(options.dir, `redis-${port}.log`),
    greeting: { say: 'PING\r\n', hear: '+PONG' },
  });
  return Object.assign(server, { url: `redis://127.0.0.1:${port}` });
}
