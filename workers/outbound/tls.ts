import { once } from 'node:events';
import { isIP, type Socket } from 'node:net';
import {
  type ConnectionOptions,
  checkServerIdentity,
  connect as connectTLS,
  type PeerCertificate,
  type TLSSocket,
} from 'node:tls';
import { AppError } from '#shared/core/errors.ts';
import type { Outbound } from './gate.ts';
import { formatAddress, type Reason, reasonOf, upstreamError } from './upstream-error.ts';

export interface Certificates {
  tlsVerify: boolean;
  caCertificate?: string | undefined;
}

/** Verifies the certificate against the host name that the tenant entered, not against the address it resolves to. */
export function tlsOptions(host: string, { tlsVerify, caCertificate }: Certificates) {
  return {
    // Names in certificates and in SNI have no trailing dot, and SNI is for names only.
    ...(isIP(host) === 0 && { servername: host.replace(/\.$/, '') }),
    ...(caCertificate && { ca: caCertificate }),
    rejectUnauthorized: tlsVerify,
    checkServerIdentity: (_name: string, certificate: PeerCertificate) => checkServerIdentity(host, certificate),
  };
}

interface Handshake {
  /** `host:port`, for error messages. */
  where: string;
  tls: ConnectionOptions;
  signal: AbortSignal;
  timeoutMs?: number;
  /** Why the handshake failed; when undefined, TLS is the reason. */
  reasonFor?(error: unknown): Reason | undefined;
}

const HANDSHAKE_MS = 10_000;

/** Encrypts a connected socket, and destroys it when the handshake fails. */
export async function encrypt(
  socket: Socket,
  { where, tls, signal, timeoutMs = HANDSHAKE_MS, reasonFor = () => undefined }: Handshake,
): Promise<TLSSocket> {
  const both = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  let encrypted: TLSSocket | undefined;
  try {
    encrypted = connectTLS({ ...tls, socket });
    // A socket that is destroyed during the handshake may emit an error later.
    encrypted.on('error', () => undefined);
    await once(encrypted, 'secureConnect', { signal: both });
    return encrypted;
  } catch (error) {
    encrypted?.destroy();
    socket.destroy();
    throw upstreamError(both.aborted ? 'timeout' : (reasonFor(error) ?? 'tls'), where, error);
  }
}

/** Opens a socket for a driver, through the gate; encrypted unless `certificates` is null. */
export async function openStream(
  { host, port, certificates }: { host: string; port: number; certificates: Certificates | null },
  outbound: Outbound,
  signal: AbortSignal,
): Promise<Socket> {
  const socket = await outbound.connect({ host, port }, signal);
  if (!certificates) return socket;
  return await encrypt(socket, { where: formatAddress(host, port), tls: tlsOptions(host, certificates), signal });
}

interface URLParts {
  /** `https:` and `wss:` are encrypted. */
  protocol: string;
  /** IPv6 with or without its brackets. */
  hostname: string;
  /** Empty for the default port of the scheme. */
  port: string;
}

/** Connects to the host of a URL, through the gate; encrypted if the scheme is `https:` or `wss:`. */
export async function connectURL(
  outbound: Outbound,
  url: URLParts,
  { sslVerify, signal }: { sslVerify: boolean; signal: AbortSignal },
): Promise<Socket> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const isEncrypted = url.protocol === 'https:' || url.protocol === 'wss:';
  const port = portOf(url);
  if (port === 0) throw new AppError('VALIDATION_ERROR', 'The URL names port 0');
  const socket = await outbound.connect({ host, port }, signal);
  if (!isEncrypted) return socket;
  return await encrypt(socket, {
    where: formatAddress(host, port),
    tls: { ...tlsOptions(host, { tlsVerify: sslVerify }), ALPNProtocols: ['http/1.1'] },
    signal,
    // A connection that breaks here is tried again, as one that breaks at any other moment.
    reasonFor: reasonOf,
  });
}

export function portOf({ protocol, port }: Pick<URLParts, 'protocol' | 'port'>): number {
  if (port !== '') return Number(port);
  return protocol === 'https:' || protocol === 'wss:' ? 443 : 80;
}
