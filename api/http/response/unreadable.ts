import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorTitleFor, sendErrorPage } from './error-page.ts';

/** Answers malformed HTTP, and requests with too large headers, in our error envelope; Node's own response has no body. */
export function refuseUnreadable(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    const [status, message] = reasons[error.code ?? ''] ?? [400, 'This is not an HTTP request'];
    const body = JSON.stringify({ success: false, error: { code: 'INVALID_REQUEST', message } });
    socket.end(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
  });
}

/** Answers a request of an address that has too many under way. */
export function refuseTooMany(request: IncomingMessage, response: ServerResponse): void {
  const message = 'Too many connections from this address';
  const title = errorTitleFor(request);
  if (title !== undefined) {
    response.setHeader('connection', 'close');
    return sendErrorPage(response, { title, status: 429, message, retryAfter: 10 });
  }
  response.writeHead(429, {
    'content-type': 'application/json; charset=utf-8',
    'retry-after': '10',
    connection: 'close',
  });
  response.end(JSON.stringify({ success: false, error: { code: 'RATE_LIMITED', message } }));
}

const reasons: Record<string, [status: number, message: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'The address and headers of the request are too long'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request took too long to arrive'],
};
