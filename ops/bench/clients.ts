import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Load, Measured } from './p13-clients.ts';

/** Clients in a process of their own. Disposing it ends them. */
export interface Clients extends AsyncDisposable {
  load(load: Load): Promise<Measured>;
}

export function startClients(): Clients {
  const child = fork(join(import.meta.dirname, 'p13-clients.ts'));
  return {
    async load(load) {
      const answered = once(child, 'message');
      const ended = once(child, 'exit').then(() => Promise.reject(new Error('The clients ended')));
      child.send(load);
      const [measured] = await Promise.race([answered, ended]);
      // Sent by our own file as this type.
      return measured as Measured;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
    },
  };
}
