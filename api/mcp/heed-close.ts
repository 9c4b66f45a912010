import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

/**
 * Ends the connection with the response if the client asked for that. The SDK names `Connection: keep-alive` in its responses, which
 * would leave a client that waits for the end of the connection without one.
 */
export function heedClose(response: ServerResponse): void {
  if (response.shouldKeepAlive) return;
  const { writeHead } = response;
  // Names of headers are in lower case, as those of every `Response` are.
  const closing = (status: number, headers?: OutgoingHttpHeaders) =>
    writeHead.call(response, status, { ...headers, connection: 'close' });
  Object.assign(response, { writeHead: closing });
}
