import type { Duplex } from 'node:stream';
import type { BackPressure } from './back-pressure.ts';

/**
 * Protects the process from a driver's exceptions: any program may answer as a server, and an exception while the driver reads an answer
 * ends only this connection. `check` is called with the data before the driver; `backPressure` pauses the stream when too much arrives.
 */
export function guarded<S extends Duplex>(
  stream: S,
  backPressure: BackPressure,
  check: (data: Buffer) => void = () => undefined,
): S {
  const on = stream.on.bind(stream) as (event: string, listener: (...args: never[]) => void) => S;

  function reading(listener: (data: Buffer) => void): (data: Buffer) => void {
    return (data) => {
      if (stream.destroyed) return;
      try {
        check(data);
        backPressure.arrived(data.length, stream);
        listener(data);
      } catch (error) {
        stream.destroy(error instanceof Error ? error : new Error(String(error)));
      }
    };
  }

  return Object.assign(stream, {
    on: (event: string, listener: (...args: never[]) => void): S =>
      on(event, event === 'data' ? reading(listener as (data: Buffer) => void) : listener),
  });
}
