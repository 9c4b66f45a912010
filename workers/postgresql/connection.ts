import type { Socket } from 'node:net';
import pg from 'pg';
import { unlessAborted } from '#shared/unless-aborted.ts';
import type { PooledConnection } from '../connections/connection-pool.ts';
import { connectError, isForThisEncryption } from './errors.ts';
import { type Dial, forDriver, type Means, openStream } from './stream.ts';
import type { Target } from './target.ts';
import { createTypes, type Types } from './values.ts';

export type Notice = { severity: string; message: string };

/** A connection to a PostgreSQL server, as it is lent for one piece of work. */
export interface PostgresConnection extends PooledConnection {
  /** What errors call the server. */
  readonly where: string;
  readonly driver: pg.Client;
  readonly types: Types;
  /** For statements of ours, whose answers are small and of known types. */
  readonly query: pg.Client['query'];
  /** What the server remarked on since this was called last. */
  takeNotices(): Notice[];
}

const MAX_NOTICES = 100;
const MAX_NOTICE = 2_000;
const CANCEL_MS = 5_000;
const HANG_UP_MS = 500;

export async function openPostgresConnection(
  target: Target,
  dial: Dial,
  signal: AbortSignal,
): Promise<PostgresConnection> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(target.connectMs)]);
  let failure: unknown;
  for (const encryption of target.encryption) {
    try {
      return await open(target, { target, dial, encryption }, limit);
    } catch (error) {
      failure = error;
      if (!isForThisEncryption(error)) break;
    }
  }
  throw connectError(failure, target, limit);
}

async function open(target: Target, means: Means, signal: AbortSignal): Promise<PostgresConnection> {
  const stream = await openStream(target, means, signal);
  // A cancel must come to the very server that is at work, and a name may stand for several.
  const place = { host: stream.remoteAddress ?? target.host, port: target.port };
  const driver = driverFor(stream, target);
  const settings = settingsFor(target);
  let isOpen = true;
  let notices: Notice[] = [];
  driver.on('error', () => {
    isOpen = false;
  });
  driver.on('end', () => {
    isOpen = false;
  });
  driver.on('notice', ({ severity = 'NOTICE', message = '' }) => {
    if (notices.length < MAX_NOTICES) notices.push({ severity, message: message.slice(0, MAX_NOTICE) });
  });
  try {
    await unlessAborted(
      signal,
      driver.connect().then(() => driver.query(settings)),
    );
  } catch (error) {
    stream.destroy();
    throw error;
  }
  return {
    where: target.where,
    driver,
    types: createTypes(),
    query: driver.query.bind(driver),
    get isOpen() {
      return isOpen;
    },
    takeNotices: () => notices.splice(0),
    async reset() {
      if (driver.getTransactionStatus() !== 'I') await driver.query('ROLLBACK');
      await driver.query('DISCARD ALL');
      await driver.query(settings);
      notices = [];
    },
    async cancel() {
      try {
        await sendCancel(driver, () => openStream(place, means, AbortSignal.timeout(CANCEL_MS)));
      } finally {
        stream.destroy();
      }
    },
    close() {
      isOpen = false;
      driver.end().catch(() => undefined);
      // What answers may be anything, also something that never hangs up.
      setTimeout(() => stream.destroy(), HANG_UP_MS).unref();
    },
  };
}

function driverFor(stream: Socket, { host, port, user, password, database, applicationName }: Target): pg.Client {
  return new pg.Client({
    stream: () => forDriver(stream),
    ssl: false,
    host,
    port,
    user,
    // As a function, an empty one is empty: the driver would look for another in the environment and in files.
    password: () => password,
    database,
    application_name: applicationName,
  });
}

/**
 * How values are written, so that the readers understand them, and how quotes are read, so that what we quote stays quoted,
 * whatever the role or the database has set for itself. The order of day and month is left as it is there. Statements and
 * not parameters of the connection: a pooler in between knows statements only. The time limit is for what nobody is left
 * to cancel, and does not replace one that the role has. The last line makes the server notice that we are gone while it works.
 */
function settingsFor({ isOurs }: Target): string {
  return `
set standard_conforming_strings = on; set client_encoding = 'UTF8'; set datestyle = 'ISO'; set timezone = 'UTC';
set intervalstyle = 'iso_8601'; set bytea_output = 'hex'; set extra_float_digits = 1; set client_min_messages = notice;
select pg_catalog.set_config('statement_timeout', '3660s', false)
 where ${isOurs} or pg_catalog.current_setting('statement_timeout') = '0';
select pg_catalog.set_config('client_connection_check_interval', '10s', false)
 where pg_catalog.current_setting('server_version_num')::int >= 140000 and pg_catalog.version() !~* 'windows|mingw|visual'`;
}

/** The server answers a cancel by hanging up, whether there was anything to cancel or not. */
async function sendCancel(driver: pg.Client, open: () => Promise<Socket>): Promise<void> {
  // The driver has both since the server's greeting, and its types do not say so.
  const { processID, secretKey } = driver as unknown as { processID: number; secretKey: number };
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
