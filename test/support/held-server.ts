import type { ServerResponse } from 'node:http';
import { type HTTPServer, startHTTP } from './http-server.ts';

/** A service that holds its answers until the test says so: what calls it is under way for as long as the test needs it to be. */
export interface GatedServer extends HTTPServer {
  /** Answers the oldest requests that wait, all of them unless a number is given. */
  answer(count?: number): void;
  /** Answers all that wait, and every later request at once. */
  open(): void;
}

export async function startGated(): Promise<GatedServer> {
  const pending: ServerResponse[] = [];
  let isOpen = false;
  const server = await startHTTP((_request, response) => {
    if (isOpen) response.end('{}');
    else pending.push(response);
  });
  function answer(count = Number.POSITIVE_INFINITY): void {
    for (const response of pending.splice(0, count)) response.end('{}');
  }
  return Object.assign(server, {
    answer,
    open() {
      isOpen = true;
      answer();
    },
  });
}
