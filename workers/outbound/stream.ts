import { once } from 'node:events';
import { isIP, type Socket } from 'node:net';
import { checkServerIdentity, connect as connectTLS, type PeerCertificate } from 'node:tls';
import type { Outbound } from './gate.ts';
import { placeOf, upstreamError } from './upstream-error.ts';

export interface Certificates {
  tlsVerify: boolean;
  caCertificate?: string | undefined;
}

/** Who the other side has to be: the name the tenant wrote, whatever address it stands for. */
export function tlsOptions(host: string, { tlsVerify, caCertificate }: Certificates) {
  return {
    ...(isIP(host) === 0 && { servername: host }),
    ...(caCertificate && { ca: caCertificate }),
    rejectUnauthorized: tlsVerify,
    checkServerIdentity: (_name: string, certificate: PeerCertificate) => checkServerIdentity(host, certificate),
  };
}

/** A connected socket for a driver, encrypted where certificates are given. */
export async function openStream(
  target: { host: string; port: number; certificates: Certificates | null },
  outbound: Outbound,
  signal: AbortSignal,
): Promise<Socket> {
  const { host, port, certificates } = target;
  const socket = await outbound.connect({ host, port }, signal);
  if (!certificates) return socket;
  try {
    const encrypted = connectTLS({ socket, ...tlsOptions(host, certificates) });
    await once(encrypted, 'secureConnect', { signal });
    return encrypted;
  } catch (error) {
    socket.destroy();
    throw upstreamError(signal.aborted ? 'timeout' : 'tls', placeOf(host, port), error);
  }
}
