import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Finds a free loopback port, below the range from which the kernel takes client ports: a client that keeps dialling a stopped
 * server in that range can end up connected to itself.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (await isFree(port)) return port;
  }
}

export async function isFree(port: number): Promise<boolean> {
  return (await portProblem(port)) === null;
}

/** Why the port cannot be used now, or null if it can. */
export async function portProblem(port: number): Promise<string | null> {
  const server = createServer();
  try {
    server.listen({ port, host: '127.0.0.1' });
    await once(server, 'listening');
    return null;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EADDRINUSE') return 'is taken by another program';
    return code === 'EACCES' ? 'needs more rights than you have' : `cannot be used (${String(code)})`;
  } finally {
    server.close();
  }
}
