import { connect } from 'node:net';
import type { Client } from 'pg';

const CANCEL_REQUEST = 80_877_102;
const PATIENCE_MS = 2_000;

/**
 * Asks the server to stop what this connection is waiting for, over a second connection to the very same address. The server
 * answers nothing; what is cancelled ends with an error.
 */
export function cancelQuery(client: Client): void {
  // The driver has both since the server's greeting, and its types do not say so.
  const { processID, secretKey } = client as unknown as { processID: number | null; secretKey: number | null };
  if (processID === null || secretKey === null) return;
  const request = Buffer.alloc(16);
  request.writeInt32BE(request.length, 0);
  request.writeInt32BE(CANCEL_REQUEST, 4);
  request.writeInt32BE(processID, 8);
  request.writeInt32BE(secretKey, 12);
  const socket = client.host.startsWith('/')
    ? connect(`${client.host}/.s.PGSQL.${client.port}`)
    : connect(client.port, client.host);
  socket.setTimeout(PATIENCE_MS, () => socket.destroy());
  socket.on('error', () => socket.destroy());
  socket.end(request);
}
