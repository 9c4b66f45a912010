import { AppError, toAppError } from '#shared/core/errors.ts';
import { isJsonObject, type JsonObject } from '#shared/core/json.ts';

/** Reason of UPSTREAM_FAILED, in `details.reason`; `timeout` is that of UPSTREAM_TIMEOUT. */
export type Reason =
  | 'unreachable'
  | 'timeout'
  | 'authentication'
  | 'not-found'
  | 'tls'
  | 'busy'
  | 'refused'
  | 'not-allowed'
  | 'lost';

const messages: Record<Reason, (where: string, cause: unknown) => string> = {
  unreachable: (where) => `Nothing answers at ${where}: expected a server on this host and port`,
  timeout: (where) => `${where} did not answer in time`,
  authentication: (where) => `${where} does not accept these credentials`,
  'not-found': (where) => `${where} has no database, virtual host or path of the given name`,
  tls: (where, cause) => `No encrypted connection to ${where}: ${tlsFault(cause)}`,
  busy: (where) => `${where} accepts no more connections`,
  refused: (where) => `${where} answered, but refused the connection or does not speak the expected protocol`,
  'not-allowed': (where) => `${where} is neither a public address nor one that this deployment allows`,
  lost: (where) => `The connection to ${where} was lost; whether the request took effect is unknown`,
};

const tlsFaults: readonly (readonly [RegExp, string])[] = [
  [/ALTNAME/, 'its certificate is for another host'],
  [/EXPIRED/, 'its certificate has expired'],
  [/SELF_SIGNED|UNABLE_TO|UNTRUSTED|DEPTH_ZERO/, 'its certificate was issued by no trusted authority'],
  [/PEM|ASN1/, 'the given CA certificate is not in PEM format'],
  [/NO_SSL_SUPPORT/, 'it offers no encryption'],
];

function tlsFault(cause: unknown): string {
  if (cause === undefined) return 'it offers no encryption';
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return tlsFaults.find(([pattern]) => pattern.test(code))?.[1] ?? 'it offers no encryption that works';
}

const hopeless: ReadonlySet<Reason> = new Set(['authentication', 'not-found', 'tls', 'not-allowed']);

/** An error in our words, since a server's message may repeat secrets it was sent. `where` is `host:port` only. */
export function upstreamError(reason: Reason, where: string, cause?: unknown): AppError {
  return new AppError(reason === 'timeout' ? 'UPSTREAM_TIMEOUT' : 'UPSTREAM_FAILED', messages[reason](where, cause), {
    cause,
    retry: !hopeless.has(reason),
    details: { reason },
  });
}

/** Error for an address of the service itself. It does not say which part of the service listens there. */
export function ownAddressError(where: string): AppError {
  return new AppError('UPSTREAM_FAILED', `${where} is refused: it is an address of this service`, {
    retry: false,
    details: { reason: 'not-allowed' satisfies Reason },
  });
}

/**
 * Runs work after a request has been sent: its errors get `details.sent`, because their reason alone would mean that nothing
 * was done.
 */
export async function saySent<T>(isSent: boolean, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isSent && error instanceof AppError ? withDetails(error, { sent: true }) : error;
  }
}

/** Converts an error for a client. `begun`: after a failure of the worker's own database it is unknown how far the work had come. */
export function knownError(error: unknown): AppError {
  const known = toAppError(error);
  return error instanceof AppError || known.code !== 'UNAVAILABLE' ? known : withDetails(known, { begun: true });
}

/** The same error with more details. */
export function withDetails(error: AppError, more: JsonObject): AppError {
  const { code, message, cause, status, retry, retryAfter, details } = error;
  const merged = { ...(isJsonObject(details) && details), ...more };
  return new AppError(code, message, {
    cause,
    status,
    retry,
    ...(retryAfter !== undefined && { retryAfter }),
    details: merged,
  });
}

const byCode: Readonly<Record<string, Reason>> = {
  ECONNREFUSED: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
  ENOTFOUND: 'unreachable',
  ETIMEDOUT: 'timeout',
  ECONNRESET: 'lost',
  EPIPE: 'lost',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'tls',
};

/** Reason of a failed connection from Node's error code; undefined for errors of drivers. */
export function reasonOf(error: unknown): Reason | undefined {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (Object.hasOwn(byCode, code)) return byCode[code];
  return /CERT|TLS|SSL|SELF_SIGNED|VERIFY/.test(code) ? 'tls' : undefined;
}

export function formatAddress(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
