import { once } from 'node:events';
import { isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTLS, type TLSSocket } from 'node:tls';
import { unlessAborted } from '#shared/unless-aborted.ts';
import type { Outbound } from '../../outbound.ts';
import { placeOf, upstreamError } from '../../upstream-error.ts';
import { guarded } from '../guarded.ts';
import { createFrameCheck } from './frames.ts';
import type { Target } from './target.ts';

/** Whether to encrypt: never, if the server offers it, or always. */
export type Encryption = 'never' | 'offered' | 'always';

type StreamTarget = Pick<Target, 'host' | 'port' | 'sslMode' | 'caCertificate'>;

export interface Place {
  host: string;
  port: number;
}

/** A connection on which the protocol can begin. The place may be an address of the target's host. */
export async function openStream(
  place: Place,
  { target, encryption, outbound }: { target: StreamTarget; encryption: Encryption; outbound: Outbound },
  signal: AbortSignal,
): Promise<Socket | TLSSocket> {
  const socket = await outbound.connect(place, signal);
  // Whoever is at work notices by the end of the stream.
  socket.on('error', () => undefined);
  socket.setKeepAlive(true, 30_000);
  if (encryption === 'never') return socket;
  try {
    const isOffered = await unlessAborted(signal, offersTLS(socket, target));
    if (isOffered) return await encrypt(socket, target, signal);
    if (encryption === 'offered') return socket;
    throw upstreamError('tls', placeOf(target.host, target.port));
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** SSLRequest: the answer is one byte in clear. */
async function offersTLS(socket: Socket, target: StreamTarget): Promise<boolean> {
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
  // Not a PostgreSQL; or more than the one byte, put in by somebody on the way to be taken for what comes encrypted.
  throw upstreamError('refused', placeOf(target.host, target.port));
}

async function encrypt(socket: Socket, target: StreamTarget, signal: AbortSignal): Promise<TLSSocket> {
  const stream = connectTLS({ socket, ...tlsOptions(target) });
  stream.on('error', () => undefined);
  try {
    await once(stream, 'secureConnect', { signal });
    return stream;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw upstreamError('tls', placeOf(target.host, target.port), error);
  }
}

/** The connection goes to an address; the certificate is for the host that the datasource names. */
function tlsOptions({ host, sslMode, caCertificate }: StreamTarget): ConnectionOptions {
  return {
    host,
    ...(isIP(host) === 0 && { servername: host }),
    rejectUnauthorized: sslMode === 'verify-ca' || sslMode === 'verify-full',
    ...(sslMode !== 'verify-full' && { checkServerIdentity: () => undefined }),
    ...(caCertificate !== '' && { ca: caCertificate }),
  };
}

/**
 * The stream as the driver wants it: one it may connect by itself, which is connected, and whose every message is looked over
 * before the driver reads it. Seven bytes can keep the driver looking for the end of a text for ever.
 */
export function forDriver<S extends Socket>(stream: S): S {
  return Object.assign(guarded(stream, createFrameCheck()), {
    connect() {
      process.nextTick(() => stream.emit('connect'));
      return stream;
    },
  });
}
