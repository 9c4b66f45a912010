import type { Socket } from 'node:net';
import { unlessAborted } from '#shared/unless-aborted.ts';
import { guarded } from '../connections/guarded.ts';
import { encrypt } from '../outbound/tls.ts';
import { upstreamError } from '../outbound/upstream-error.ts';
import { createFrameCheck } from './frames.ts';
import type { Encryption, Target } from './target.ts';

export interface Place {
  host: string;
  port: number;
}

/** How a place is connected to: through the guard, but for the deployment's own server. */
export type Dial = (place: Place, signal: AbortSignal) => Promise<Socket>;

export interface Means {
  dial: Dial;
  encryption: Encryption;
  target: Pick<Target, 'where' | 'tls' | 'connectMs'>;
}

/** A connection on which the protocol can begin. The place may be an address of the target's host. */
export async function openStream(
  place: Place,
  { dial, encryption, target }: Means,
  signal: AbortSignal,
): Promise<Socket> {
  const socket = await dial(place, signal);
  // Whoever is at work notices by the end of the stream.
  socket.on('error', () => undefined);
  socket.setKeepAlive(true, 30_000);
  if (encryption === 'never') return socket;
  try {
    const isOffered = await unlessAborted(signal, offersTLS(socket, target.where));
    if (isOffered)
      return await encrypt(socket, { where: target.where, tls: target.tls, limitMs: target.connectMs, signal });
    if (encryption === 'offered') return socket;
    throw upstreamError('tls', target.where);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** SSLRequest: the answer is one byte in clear. */
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
  // Not a PostgreSQL; or more than the one byte, put in by somebody on the way to be taken for what comes encrypted.
  throw upstreamError('refused', where);
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
