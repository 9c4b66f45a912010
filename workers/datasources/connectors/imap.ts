import type { Socket } from 'node:net';
import { connect as connectTLS } from 'node:tls';
import { ImapFlow, type ImapTransport } from 'imapflow';
import type { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { imap } from '#shared/datasources/types/imap.ts';
import type { Outbound } from '../../outbound/gate.ts';
import { openStream, tlsOptions } from '../../outbound/tls.ts';
import { unlessAborted } from '../../outbound/unless-aborted.ts';
import { formatAddress, upstreamError } from '../../outbound/upstream-error.ts';
import type { Connector } from './connector.ts';

type Options = z.output<(typeof imap)['options']>;

const TEST_MS = 15_000;
/** Limit of one answer of the server; a larger one ends the connection. Listeners read mails of at most half this size. */
export const MAX_ANSWER_BYTES = 10_000_000;

export const connectImap: Connector<typeof imap> = (options, { outbound }) => ({
  async test(signal) {
    const both = AbortSignal.any([signal, AbortSignal.timeout(TEST_MS)]);
    const { close } = await openImap(options, outbound, both);
    close();
  },
  async execute() {
    throw invalidField('datasourceType', 'an imap datasource has no queries: listeners receive its new mail');
  },
  async [Symbol.asyncDispose]() {},
});

/** A connection that has signed in. */
export interface ImapConnection {
  client: ImapFlow;
  /** Name of the server in errors. */
  where: string;
  /** Rejects when the connection has ended. */
  lost: Promise<never>;
  close(): void;
}

export async function openImap(options: Options, outbound: Outbound, signal: AbortSignal): Promise<ImapConnection> {
  const { host, port, security, user, password } = options;
  const where = formatAddress(host, port);
  const certificates = security === 'tls' ? options : null;
  const socket = await openStream({ host, port, certificates }, outbound, signal);
  const client = new ImapFlow({
    host,
    port,
    secure: security === 'tls',
    doSTARTTLS: security === 'starttls',
    auth: { user, pass: password },
    transport: transportOn(socket, options),
    logger: false,
    disableAutoIdle: true,
    maxLineLength: MAX_ANSWER_BYTES,
    maxLiteralSize: MAX_ANSWER_BYTES,
    maxResponseSize: 2 * MAX_ANSWER_BYTES,
  });
  const { promise: lost, reject } = Promise.withResolvers<never>();
  lost.catch(() => undefined);
  client.on('error', (error) => reject(known(error, where)));
  client.on('close', () => reject(upstreamError('lost', where)));
  const close = () => {
    client.close();
    socket.destroy();
  };
  try {
    await unlessAborted(signal, client.connect());
    return { client, where, lost, close };
  } catch (error) {
    close();
    if (signal.aborted) throw upstreamError('timeout', where, error);
    throw known(error, where);
  }
}

/** Gives the library the socket that the outbound gate has opened: a socket of its own would pass no checks. */
function transportOn(socket: Socket, options: Options): ImapTransport {
  return {
    connect(_address, onConnect) {
      // The library adds its listeners to the socket only after this function has returned.
      setImmediate(onConnect);
      return socket;
    },
    upgrade: (plain, _address, onSecure) =>
      connectTLS({ ...tlsOptions(options.host, options), socket: plain }, onSecure),
  };
}

/** Maps an error to a reason, without the text of the server, which may repeat what it was sent, such as the password. */
function known(error: unknown, where: string): AppError {
  if (error instanceof AppError) return error;
  const fields: { authenticationFailed?: unknown; tlsFailed?: unknown; code?: unknown } =
    typeof error === 'object' && error !== null ? error : {};
  const code = String(fields.code);
  if (fields.authenticationFailed) return upstreamError('authentication', where, error);
  if (fields.tlsFailed || /^(?:ERR_TLS|ERR_SSL|CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(code))
    return upstreamError('tls', where, error);
  if (/TIMEOUT/.test(code)) return upstreamError('timeout', where, error);
  return upstreamError(/^E[A-Z]+$|NoConnection/.test(code) ? 'lost' : 'refused', where, error);
}
