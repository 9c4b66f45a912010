import type { Socket } from 'node:net';
import { AbstractConnector, Redis } from 'ioredis';
import type { z } from 'zod';
import { currentReservation } from '#shared/concurrency/work-context.ts';
import { AppError } from '#shared/core/errors.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { redis } from '#shared/datasources/types/redis.ts';
import type { Certificates } from '../../../outbound/tls.ts';
import { upstreamError } from '../../../outbound/upstream-error.ts';
import { type Reply, sizeOf } from './replies.ts';

export type Call = (command: string, ...words: (string | Buffer | number)[]) => Promise<Reply>;

interface RedisEndpoint {
  host: string;
  port: number;
  username: string;
  password: string;
  database: number;
  certificates: Certificates | null;
}

export function endpointOf(options: z.output<(typeof redis)['options']>): RedisEndpoint {
  if (options.connectionOption === 'connectionDetails') {
    const { tls, ...details } = options.connectionDetails;
    return { ...details, certificates: tls ? details : null };
  }
  const url = URL.parse(options.connectionUrl);
  const database = /^\/?(\d{0,2})$/.exec(url?.pathname ?? '')?.[1];
  if (!url || !/^rediss?:$/.test(url.protocol) || !url.hostname || database === undefined || url.search || url.hash)
    throw invalidField(
      'datasourceOptions.connectionUrl',
      'must be like redis://user:password@host:6379/0 (rediss:// with TLS), without parameters',
    );
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(url.port || 6379),
    username: decoded(url.username),
    password: decoded(url.password),
    database: Number(database || 0),
    certificates: url.protocol === 'rediss:' ? options : null,
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidField('datasourceOptions.connectionUrl', 'has a % that begins no encoded character');
  }
}

/** The driver on a connected socket. It neither connects nor signs in by itself, so it never reconnects. */
export function clientOn(socket: Socket): Redis {
  class ConnectedSocketConnector extends AbstractConnector {
    constructor() {
      super(1_000);
    }
    async connect(): Promise<Socket> {
      this.connecting = true;
      this.stream = socket;
      return socket;
    }
  }
  const client = new Redis({
    Connector: ConnectedSocketConnector,
    lazyConnect: true,
    protocol: 2,
    stringNumbers: true,
    disableClientInfo: true,
    enableReadyCheck: false,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => null,
  });
  client.on('error', () => undefined);
  return client;
}

export async function signIn(
  client: Redis,
  { username, password, database }: RedisEndpoint,
  where: string,
): Promise<void> {
  if (password !== '' || username !== '') {
    const words = username === '' ? [password] : [username, password];
    await client.call('AUTH', ...words).catch((error: unknown) => {
      throw upstreamError(isErrorReply(error) ? 'authentication' : 'lost', where, redacted(error));
    });
  }
  const call = callOn(client, where);
  await call('PING');
  if (database === 0) return;
  await call('SELECT', database).catch((error: unknown) => {
    throw error instanceof AppError && error.code === 'DB_ERROR' ? upstreamError('not-found', where, error) : error;
  });
}

export function callOn(client: Redis, where: string): Call {
  return async (command, ...words) => {
    const reply = await send();
    await currentReservation()?.reserve(sizeOf(reply));
    return reply;

    async function send(): Promise<Reply> {
      try {
        return (await client.callBuffer(command, ...words)) as Reply;
      } catch (error) {
        throw isErrorReply(error) ? replyError(error, where) : upstreamError('lost', where, redacted(error));
      }
    }
  };
}

function isErrorReply(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}

/** Copies an error without its other fields: the driver attaches the command with its arguments, such as the password, for the log. */
function redacted(error: unknown): Error {
  if (!(error instanceof Error)) return new Error('the driver gave no reason');
  const { message } = error;
  return new Error(isErrorReply(error) ? message.split(' ', 1)[0] : message);
}

function replyError(error: Error, where: string): AppError {
  const [kind = ''] = error.message.split(' ', 1);
  if (kind === 'NOAUTH') return upstreamError('authentication', where, redacted(error));
  if (kind === 'LOADING' || kind === 'BUSY' || /max number of clients/.test(error.message))
    return upstreamError('busy', where, redacted(error));
  return new AppError('DB_ERROR', error.message.slice(0, 500), {
    cause: redacted(error),
    details: { redis_code: kind },
  });
}
