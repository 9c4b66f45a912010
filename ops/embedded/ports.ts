import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A loopback port nobody listens on. It lies below the range the kernel takes client ports from:
 * a client that keeps dialling a stopped server in that range can end up connected to itself.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (await isFree(port)) return port;
  }
}

export async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ port, host: '127.0.0.1' });
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
