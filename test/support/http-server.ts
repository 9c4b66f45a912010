import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTLSServer } from 'node:https';
import type { AddressInfo } from 'node:net';

export interface SeenRequest {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

export interface HTTPServer extends AsyncDisposable {
  port: number;
  origin: string;
  /** Every request, in the order in which their bodies were complete. */
  seen: SeenRequest[];
  /** Requests whose client disconnected before the answer. */
  abandoned(): number;
}

type Answer = (request: SeenRequest, response: ServerResponse) => void | Promise<void>;

/** An external API on loopback. By default it answers with the request that it received. */
export async function startHTTP(
  answer: Answer = echo,
  { tls, port = 0 }: { tls?: { key: string; cert: string }; port?: number } = {},
): Promise<HTTPServer> {
  const seen: SeenRequest[] = [];
  let abandoned = 0;
  const listener: RequestListener = async (request, response) => {
    response.on('close', () => {
      if (!response.writableFinished) abandoned += 1;
    });
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = '', url = '', headers } = request;
    const asked = { method, url, headers, body: Buffer.concat(chunks).toString('utf8') };
    seen.push(asked);
    await answer(asked, response);
  };
  const server = tls ? createTLSServer(tls, listener) : createServer(listener);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const { port: bound } = server.address() as AddressInfo;
  return {
    port: bound,
    origin: `${tls ? 'https' : 'http'}://127.0.0.1:${bound}`,
    seen,
    abandoned: () => abandoned,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function echo({ method, url, headers, body }: SeenRequest, response: ServerResponse): void {
  json(response, { method, url, headers, body });
}

export function json(
  response: ServerResponse,
  value: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(value));
}
