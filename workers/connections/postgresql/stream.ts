import type { Socket } from 'node:net';
import { encrypt } from '../../outbound/tls.ts';
import { unlessAborted } from '../../outbound/unless-aborted.ts';
import { upstreamError } from '../../outbound/upstream-error.ts';
import type { BackPressure } from '../back-pressure.ts';
import { guarded } from '../guarded.ts';
import { createMessageCheck } from './check-messages.ts';
import type { Encryption, PostgresEndpoint } from './endpoint.ts';

export interface Address {
  host: string;
  port: number;
}

/** Connects to an address: through the gate, except for the deployment's own server. */
export type Dial = (address: Address, signal: AbortSignal) => Promise<Socket>;

export interface StreamOptions {
  dial: Dial;
  encryption: Encryption;
  endpoint: Pick<PostgresEndpoint, 'where' | 'tls' | 'connectMs'>;
}

/** Opens a connection on which the protocol can begin. `address` may be an IP address of the endpoint's host. */
export async function openStream(
  address: Address,
  { dial, encryption, endpoint }: StreamOptions,
  signal: AbortSignal,
): Promise<Socket> {
  const socket = await dial(address, signal);
  // Only prevents that an error ends the process: the driver notices it by the end of the stream.
  socket.on('error', () => undefined);
  socket.setKeepAlive(true, 30_000);
  if (encryption === 'never') return socket;
  try {
    const isOffered = await unlessAborted(signal, offersTLS(socket, endpoint.where));
    if (isOffered)
      return await encrypt(socket, { where: endpoint.where, tls: endpoint.tls, timeoutMs: endpoint.connectMs, signal });
    if (encryption === 'offered') return socket;
    throw upstreamError('tls', endpoint.where);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Sends SSLRequest, whose answer is one unencrypted byte. */
async function offersTLS(socket: Socket, where: string): Promise<boolean> {
  const request = Buffer.alloc(8);
  request.writeInt32BE(8, 0);
  request.writeInt32BE(80_877_103, 4);
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const onClose = () => reject(Object.assign(new Error('The server hung up'), { code: 'ECONNRESET' }));
  socket.once('data', resolve);
  socket.once('close', onClose);
  socket.write(request);
  const answer = String(await promise);
  socket.off('close', onClose);
  if (answer === 'S' || answer === 'N') return answer === 'S';
  // The server is not PostgreSQL, or more than one byte has arrived: an attacker could inject bytes that count as encrypted.
  throw upstreamError('refused', where);
}

/**
 * The stream in the form that the driver expects: `connect` does nothing, since it is connected, and every message is checked
 * before the driver reads it. Seven bytes can make the driver loop for ever.
 */
export function forDriver<S extends Socket>(stream: S, backPressure: BackPressure): S {
  const check = createMessageCheck((bytes) => backPressure.announced(bytes, stream));
  return Object.assign(guarded(stream, backPressure, check), {
    connect() {
      process.nextTick(() => stream.emit('connect'));
      return stream;
    },
  });
}
