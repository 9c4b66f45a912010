import { once } from 'node:events';
import { isIP, type Socket } from 'node:net';
import { connect as connectTLS } from 'node:tls';
import { AppError } from '#shared/errors.ts';
import type { Outbound } from './gate.ts';
import { placeOf, reasonOf, upstreamError } from './upstream-error.ts';

interface Target {
  /** `https:` and `wss:` are encrypted. */
  protocol: string;
  /** IPv6 with or without its brackets. */
  hostname: string;
  /** Empty for the scheme's own. */
  port: string;
}

const HANDSHAKE_MS = 10_000;

/** A connection to what a URL names, through the gate, encrypted when the scheme says so; verified against the name. */
export async function connectURL(
  outbound: Outbound,
  target: Target,
  { sslVerify, signal }: { sslVerify: boolean; signal: AbortSignal },
): Promise<Socket> {
  const host = target.hostname.replace(/^\[|\]$/g, '');
  const isEncrypted = target.protocol === 'https:' || target.protocol === 'wss:';
  const port = portOf(target);
  if (port === 0) throw new AppError('VALIDATION_ERROR', 'The URL names port 0');
  const socket = await outbound.connect({ host, port }, signal);
  if (!isEncrypted) return socket;

  const secured = connectTLS({
    socket,
    host,
    ...(isIP(host) === 0 && { servername: host.replace(/\.$/, '') }),
    rejectUnauthorized: sslVerify,
    ALPNProtocols: ['http/1.1'],
  });
  try {
    await once(secured, 'secureConnect', { signal: AbortSignal.any([signal, AbortSignal.timeout(HANDSHAKE_MS)]) });
    return secured;
  } catch (error) {
    secured.destroy();
    socket.destroy();
    const isLate = error instanceof Error && error.name === 'AbortError';
    throw upstreamError(isLate ? 'timeout' : (reasonOf(error) ?? 'tls'), placeOf(host, port), error);
  }
}

export function portOf({ protocol, port }: Pick<Target, 'protocol' | 'port'>): number {
  if (port !== '') return Number(port);
  return protocol === 'https:' || protocol === 'wss:' ? 443 : 80;
}
