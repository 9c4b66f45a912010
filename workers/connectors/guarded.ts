import type { Duplex } from 'node:stream';

/**
 * Any program may answer as a server. What a driver throws while it reads such an answer ends this connection, and not the
 * process.
 */
export function guarded<S extends Duplex>(stream: S): S {
  const on = stream.on.bind(stream) as (event: string, listener: (...args: unknown[]) => void) => S;
  return Object.assign(stream, {
    on(event: string, listener: (...args: unknown[]) => void): S {
      return on(event, event === 'data' ? ending(stream, listener) : listener);
    },
  });
}

function ending(stream: Duplex, listener: (...args: unknown[]) => void): (...args: unknown[]) => void {
  return (...args) => {
    try {
      listener(...args);
    } catch (error) {
      stream.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  };
}
