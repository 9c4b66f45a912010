import { isIPv6 } from 'node:net';
import { setImmediate as nextRound } from 'node:timers/promises';
import { connect, errors, type NatsConnection } from '@nats-io/transport-node';
import type { z } from 'zod';
import { currentReservation } from '#shared/concurrency/work-context.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Json } from '#shared/core/json.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { nats } from '#shared/datasources/types/nats.ts';
import type { QueryResult } from '../../connections/connection.ts';
import { bytesOf, writtenBytes } from '../../connections/payload.ts';
import { createSharedConnection } from '../../connections/shared-connection.ts';
import type { Outbound } from '../../outbound/gate.ts';
import { tlsOptions } from '../../outbound/tls.ts';
import { formatAddress, type Reason, reasonOf, upstreamError } from '../../outbound/upstream-error.ts';
import type { Connector } from './connector.ts';

type Options = z.output<(typeof nats)['options']>;
type Query = z.output<(typeof nats)['query']>;

interface Server {
  host: string;
  port: number;
}

interface WatchedConnection {
  connection: NatsConnection;
  /** Subjects for which the server has refused a message; it reports that separately from the message. */
  refused: Set<string>;
}

/** Connects once for all calls, since the protocol multiplexes them. */
export const connectNats: Connector<typeof nats> = (options, { outbound }) => {
  const servers = serversOf(options.servers);
  const where = servers.map(({ host, port }) => formatAddress(host, port)).join(', ');
  const shared = createSharedConnection<WatchedConnection>({
    where,
    open: (signal) => openFirst(servers, options, outbound, signal),
    isOpen: ({ connection }) => !connection.isClosed(),
    close: ({ connection }) => void connection.close().catch(() => undefined),
  });

  return {
    test: (signal) => shared.use(signal, ({ connection }) => connection.flush()),
    async execute({ query }, { signal }) {
      const subject = subjectOf(query.subject);
      const payload = bytesOf('payload', query.payload, query.encoding);
      return await shared.use(signal, async (watched) => {
        try {
          if (query.operation === 'publish') return await publish(watched, subject, payload);
          return await request(watched, query, payload);
        } catch (error) {
          throw known(error, where);
        }
      });
    },
    [Symbol.asyncDispose]: () => shared[Symbol.asyncDispose](),
  };
};

/** Publishes and flushes: a message has certainly arrived when the server answers the ping sent after it. */
async function publish(
  { connection, refused }: WatchedConnection,
  subject: string,
  payload: Uint8Array,
): Promise<QueryResult> {
  connection.publish(subject, payload);
  await connection.flush();
  // A refusal arrives before the answer to the ping, but the driver reports it only in the next round of the event loop.
  await nextRound();
  if (refused.delete(subject))
    throw invalidField('subject', `${subject} may not be published to`, { code: 'DB_ERROR' });
  return { data: { subject, bytes: payload.length }, affectedRows: 1 };
}

async function request(
  { connection }: WatchedConnection,
  { subject, encoding, replyTimeoutMs }: Extract<Query, { operation: 'request' }>,
  payload: Uint8Array,
): Promise<QueryResult> {
  const reply = await connection.request(subject, payload, { timeout: replyTimeoutMs });
  await currentReservation()?.reserve(reply.data.length);
  const headers: [string, Json][] = [...(reply.headers ?? [])].map(([name, values]) => [name, values]);
  return {
    data: {
      subject: reply.subject,
      payload: writtenBytes('The reply', reply.data, encoding),
      headers: Object.fromEntries(headers),
    },
  };
}

export function serversOf(text: string): Server[] {
  return text.split(',').map((part) => {
    const written = part.trim();
    const url = URL.parse(/^\w+:\/\//.test(written) ? written : `nats://${written}`);
    if (!url?.hostname || !/^(?:nats|tls):$/.test(url.protocol) || url.username || url.password || url.search)
      throw invalidField('datasourceOptions.servers', 'must be like host:4222, without credentials');
    return { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(url.port || 4222) };
  });
}

export async function openFirst(
  servers: Server[],
  options: Options,
  outbound: Outbound,
  signal: AbortSignal,
): Promise<WatchedConnection> {
  let failure: unknown;
  for (const server of servers) {
    try {
      return await openOne(server, options, outbound, signal);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/** Connects to the checked address only: other servers of its cluster, which the server announces, are ignored. */
async function openOne(
  { host, port }: Server,
  options: Options,
  outbound: Outbound,
  signal: AbortSignal,
): Promise<WatchedConnection> {
  const [address = ''] = await outbound.resolve({ host, port }, signal);
  const { token, user, pass, useTLS } = options;
  try {
    const connection = await connect({
      servers: `${isIPv6(address) ? `[${address}]` : address}:${port}`,
      resolve: false,
      reconnect: false,
      ignoreClusterUpdates: true,
      timeout: 5_000,
      pingInterval: 20_000,
      name: 'gantry',
      ...(token !== '' && { token }),
      ...(user !== '' && { user, pass }),
      tls: useTLS ? tlsOptions(host, options) : null,
    });
    const watched = { connection, refused: new Set<string>() };
    void watch(watched);
    return watched;
  } catch (error) {
    throw upstreamError(reasonFor(error, options), formatAddress(host, port), error);
  }
}

/** Collects the subjects of refused messages, until the connection ends. */
async function watch({ connection, refused }: WatchedConnection): Promise<void> {
  for await (const status of connection.status())
    if (status.type === 'error' && status.error instanceof errors.PermissionViolationError)
      if (status.error.operation === 'publish') refused.add(status.error.subject);
}

function reasonFor(error: unknown, { useTLS }: Options): Reason {
  if (error instanceof errors.AuthorizationError || error instanceof errors.UserAuthenticationExpiredError)
    return 'authentication';
  if (error instanceof errors.TimeoutError) return 'timeout';
  const cause = error instanceof Error ? error.cause : undefined;
  const reason = reasonOf(error) ?? reasonOf(cause);
  // The driver has no error of its own for a server that offers no encryption, or that requires it.
  const isAboutTLS =
    (useTLS && error instanceof errors.ConnectionError) || error instanceof errors.InvalidArgumentError;
  return reason ?? (isAboutTLS ? 'tls' : 'refused');
}

function known(error: unknown, where: string): unknown {
  if (error instanceof AppError) return error;
  const cause = error instanceof errors.RequestError ? error.cause : error;
  if (error instanceof errors.NoRespondersError || cause instanceof errors.NoRespondersError)
    return invalidField('subject', 'no service answers requests on it', { code: 'DB_ERROR', cause: error });
  if (error instanceof errors.TimeoutError || cause instanceof errors.TimeoutError)
    return new AppError('UPSTREAM_TIMEOUT', `${where}: no reply came in time`, { cause: error, retry: false });
  if (cause instanceof errors.PermissionViolationError)
    return invalidField('subject', `${cause.subject} may not be used`, { code: 'DB_ERROR', cause: error });
  if (cause instanceof errors.InvalidArgumentError)
    return invalidField('payload', 'is larger than the server takes', { cause: error });
  return error;
}

/** Checks a subject, which becomes a part of a line of the protocol: it must not end that line, nor be a pattern. */
function subjectOf(subject: string): string {
  const tokens = subject.split('.');
  if (/[\s\p{Cc}]/u.test(subject) || tokens.some((token) => token === '' || token === '*' || token === '>'))
    throw invalidField('subject', 'must be words joined by dots, without blanks and wildcards');
  return subject;
}
