import type { Socket } from 'node:net';
import pg from 'pg';
import { AppError } from '#shared/errors.ts';
import { unlessAborted } from '#shared/unless-aborted.ts';
import type { Outbound } from '../../outbound.ts';
import { placeOf, type Reason, reasonOf, upstreamError } from '../../upstream-error.ts';
import type { Session } from '../sessions.ts';
import { type Encryption, forDriver, openStream } from './stream.ts';
import type { Target } from './target.ts';

export interface PostgresSession extends Session {
  readonly client: pg.Client;
  /** What the server remarked on since this was called last. */
  takeNotices(): string[];
}

const MAX_NOTICES = 100;
const MAX_NOTICE = 2_000;

/** As libpq tries them: a server may let the same user in by one of them only. */
const attempts: Readonly<Record<Target['sslMode'], readonly Encryption[]>> = {
  disable: ['never'],
  allow: ['never', 'always'],
  prefer: ['offered', 'never'],
  require: ['always'],
  'verify-ca': ['always'],
  'verify-full': ['always'],
};

export async function openSession(target: Target, outbound: Outbound, signal: AbortSignal): Promise<PostgresSession> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(target.connectMs)]);
  let failure: unknown;
  for (const encryption of attempts[target.sslMode]) {
    try {
      return await open(target, { encryption, outbound }, limit);
    } catch (error) {
      failure = error;
      // "No entry in pg_hba.conf" for a connection with, or without, encryption.
      if (!(error instanceof pg.DatabaseError && error.code === '28000')) break;
    }
  }
  throw connectError(failure, target, limit);
}

interface Means {
  encryption: Encryption;
  outbound: Outbound;
}

async function open(target: Target, means: Means, signal: AbortSignal): Promise<PostgresSession> {
  const stream = await openStream(target, { target, ...means }, signal);
  // A cancel must come to the very server that is at work, and a name may stand for several.
  const place = { host: stream.remoteAddress ?? target.host, port: target.port };
  const client = new pg.Client({
    stream: () => forDriver(stream),
    ssl: false,
    host: place.host,
    port: place.port,
    user: target.user,
    // As a function, an empty one is empty: the driver would look for another in the environment and in files.
    password: () => target.password,
    database: target.database,
    application_name: target.applicationName,
  });
  let isOpen = true;
  let notices: string[] = [];
  client.on('error', () => {
    isOpen = false;
  });
  client.on('end', () => {
    isOpen = false;
  });
  client.on('notice', ({ message = '' }) => {
    if (notices.length < MAX_NOTICES) notices.push(message.slice(0, MAX_NOTICE));
  });
  try {
    await unlessAborted(
      signal,
      client.connect().then(() => client.query(SETTINGS)),
    );
  } catch (error) {
    stream.destroy();
    throw error;
  }
  return {
    client,
    get isOpen() {
      return isOpen;
    },
    takeNotices: () => notices.splice(0),
    async reset() {
      if (client.getTransactionStatus() !== 'I') await client.query('ROLLBACK');
      await client.query('DISCARD ALL');
      await client.query(SETTINGS);
      notices = [];
    },
    async cancel() {
      try {
        await sendCancel(client, () => openStream(place, { target, ...means }, AbortSignal.timeout(5_000)));
      } finally {
        stream.destroy();
      }
    },
    close() {
      isOpen = false;
      client.end().catch(() => undefined);
      // What answers may be anything, also something that never hangs up.
      setTimeout(() => stream.destroy(), 500).unref();
    },
  };
}

/**
 * How values are written, so that the readers understand them. The time limit is for statements that nobody is left to cancel;
 * it does not replace a limit that the role has. The last line makes the server notice that we are gone while it works.
 */
const SETTINGS = `
set datestyle = 'ISO, MDY'; set timezone = 'UTC'; set intervalstyle = 'iso_8601'; set bytea_output = 'hex';
set extra_float_digits = 1; set client_min_messages = notice;
select pg_catalog.set_config('statement_timeout', '3660s', false)
 where pg_catalog.current_setting('statement_timeout') = '0';
select pg_catalog.set_config('client_connection_check_interval', '10s', false)
 where pg_catalog.current_setting('server_version_num')::int >= 140000 and pg_catalog.version() !~* 'windows|mingw|visual'`;

/** The server answers a cancel by hanging up, whether there was anything to cancel or not. */
async function sendCancel(client: pg.Client, open: () => Promise<Socket>): Promise<void> {
  const { processID, secretKey } = client as unknown as { processID: number; secretKey: number };
  const request = Buffer.alloc(16);
  request.writeInt32BE(16, 0);
  request.writeInt32BE(80_877_102, 4);
  request.writeInt32BE(processID, 8);
  request.writeInt32BE(secretKey, 12);
  const stream = await open();
  const { promise, resolve } = Promise.withResolvers<void>();
  stream.once('close', resolve).resume();
  stream.end(request);
  await promise;
}

const byCode: Readonly<Record<string, Reason>> = {
  '28P01': 'authentication',
  '28000': 'authentication',
  '3D000': 'not-found',
  '53300': 'busy',
  '57P03': 'busy',
};

/** From the code alone: what answers may say whatever it wants a tenant to read. */
function connectError(error: unknown, target: Target, signal: AbortSignal): unknown {
  const where = placeOf(target.host, target.port);
  if (signal.aborted) return upstreamError('timeout', where, error);
  if (error instanceof AppError) return error;
  const code = error instanceof pg.DatabaseError ? (error.code ?? '') : '';
  const isUnfit = error instanceof Error && /password must be|SASL/.test(error.message);
  const reason = byCode[code] ?? reasonOf(error) ?? (isUnfit ? 'authentication' : 'refused');
  return upstreamError(reason, where, error);
}
