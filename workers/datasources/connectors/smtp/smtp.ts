import { once } from 'node:events';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { AppError } from '#shared/core/errors.ts';
import type { smtp } from '#shared/datasources/types/smtp.ts';
import { openStream, tlsOptions } from '../../../outbound/tls.ts';
import { unlessAborted } from '../../../outbound/unless-aborted.ts';
import { formatAddress, reasonOf, upstreamError } from '../../../outbound/upstream-error.ts';
import type { Connector } from '../connector.ts';
import { composeMessage, type Message } from './message.ts';

const OPEN_MS = 15_000;

/** One connection per mail: servers close idle ones, and a connection closed during a mail leaves its outcome unknown. */
export const connectSmtp: Connector<typeof smtp> = (options, { outbound }) => {
  const where = formatAddress(options.host, options.port);

  async function withServer<T>(signal: AbortSignal, work: (server: SMTPConnection) => Promise<T>): Promise<T> {
    const certificates = options.security === 'tls' ? options : null;
    const socket = await openStream({ ...options, certificates }, outbound, signal);
    const server = new SMTPConnection({
      host: options.host,
      port: options.port,
      connection: socket,
      secure: options.security === 'tls',
      secured: options.security === 'tls',
      requireTLS: options.security === 'starttls',
      ignoreTLS: options.security !== 'starttls',
      tls: tlsOptions(options.host, options),
      greetingTimeout: OPEN_MS,
      socketTimeout: 60_000,
    });
    // The driver emits errors between two commands as events.
    const failed = once(server, 'error').then(([error]) => Promise.reject(error));
    failed.catch(() => undefined);
    try {
      return await unlessAborted(signal, Promise.race([failed, work(server)]));
    } finally {
      server.close();
      socket.destroy();
    }
  }

  async function signIn(server: SMTPConnection): Promise<void> {
    await promisify((done: (error?: Error | null) => void) => server.connect(done))();
    if (options.user === '') return;
    const credentials = { user: options.user, pass: options.password };
    await promisify((done: (error?: Error | null) => void) => server.login({ credentials }, done))();
  }

  return {
    async test(signal) {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(OPEN_MS)]);
      await withServer(limited, signIn).catch((error: unknown) => {
        throw known(error, { where, signal: limited });
      });
    },
    async execute({ query }, { signal, idempotencyKey }) {
      const message = await composeMessage(query, options.from, idempotencyKey);
      let isUnderWay = false;
      const onData = () => {
        isUnderWay = true;
      };
      try {
        const { accepted, rejected } = await withServer(signal, async (server) => {
          await signIn(server);
          return await send(server, message, onData);
        });
        return { data: { messageID: message.messageID, accepted, rejected }, affectedRows: accepted.length };
      } catch (error) {
        if (isUnderWay && statusOf(error) === undefined) throw lost(where, error);
        throw known(error, { where, signal });
      }
    },
    async [Symbol.asyncDispose]() {},
  };
};

interface Sent {
  accepted: string[];
  rejected: string[];
}

function send(server: SMTPConnection, message: Message, onData: () => void): Promise<Sent> {
  // The driver reads this stream only after the server has accepted the recipients and the command DATA.
  const body = Readable.from(
    (function* () {
      onData();
      yield message.bytes;
    })(),
    { objectMode: false },
  );
  const envelope = { from: message.from, to: message.recipients, size: message.bytes.length };
  return new Promise((resolve, reject) => {
    server.send(envelope, body, (error, info) => {
      if (error || !info) reject(error ?? new Error('the server said nothing'));
      else resolve({ accepted: info.accepted.map(String), rejected: info.rejected.map(String) });
    });
  });
}

/** An error that is not retried: the server may have accepted the mail, and a retry would send it twice. */
function lost(where: string, cause: unknown): AppError {
  const { code, message, details } = upstreamError('lost', where, cause);
  return new AppError(code, message, { cause, details, retry: false });
}

function known(error: unknown, { where, signal }: { where: string; signal: AbortSignal }): AppError {
  if (error instanceof AppError) return error;
  if (signal.aborted) return upstreamError('timeout', where, error);
  const code = error instanceof Error && 'code' in error ? error.code : '';
  const status = statusOf(error);
  if (code === 'EAUTH') return upstreamError('authentication', where, new Error(`EAUTH ${status ?? ''}`));
  if (code === 'ETLS') return upstreamError('tls', where, error);
  if (status !== undefined) return mailError(error, status, where);
  return upstreamError(code === 'ETIMEDOUT' ? 'timeout' : (reasonOf(originOf(error)) ?? 'refused'), where, error);
}

/** The error with Node's code, which the driver has replaced with its own. */
function originOf(error: unknown): unknown {
  if (!(error instanceof Error) || !('originalCode' in error)) return error;
  return Object.assign(new Error(error.message), { code: error.originalCode });
}

function mailError(error: unknown, status: number, where: string): AppError {
  const response = error instanceof Error && 'response' in error ? String(error.response).slice(0, 300) : '';
  return new AppError('UPSTREAM_FAILED', `${where} does not take the mail: ${response}`, {
    cause: error,
    retry: status < 500,
    details: { reason: 'refused', status },
  });
}

/** Status of the server's error reply; undefined when the connection ended without a reply. */
function statusOf(error: unknown): number | undefined {
  const status = error instanceof Error && 'responseCode' in error ? error.responseCode : undefined;
  return typeof status === 'number' && status >= 400 ? status : undefined;
}
