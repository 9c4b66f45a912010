import type { Socket } from 'node:net';
import pg from 'pg';
import { unlessAborted } from '../../outbound/unless-aborted.ts';
import { type BackPressure, createBackPressure } from '../back-pressure.ts';
import type { PooledConnection } from '../connection-pool.ts';
import type { PostgresEndpoint } from './endpoint.ts';
import { connectError, isForThisEncryption } from './errors.ts';
import { type Dial, forDriver, openStream, type StreamOptions } from './stream.ts';
import { createTypes, type Types } from './values.ts';

export type Notice = { severity: string; message: string };

/** A connection to a PostgreSQL server, as it is checked out for one piece of work. */
export interface PostgresConnection extends PooledConnection {
  /** Name of the server in errors. */
  readonly where: string;
  readonly driver: pg.Client;
  /** The socket, for work that pauses reading. */
  readonly stream: Socket;
  readonly backPressure: BackPressure;
  readonly types: Types;
  /** Runs statements of our own, whose answers are small and of known types. */
  readonly query: pg.Client['query'];
  /** Present for a tenant's database over its quota: drops an object, which this connection's role may not. Returns the command tag. */
  dropAsOwner?(sql: string): Promise<string>;
  /** Notices of the server since the last call. */
  takeNotices(): Notice[];
}

const MAX_NOTICES = 100;
const MAX_NOTICE = 2_000;
const CANCEL_MS = 5_000;
const HANG_UP_MS = 500;

export async function openPostgresConnection(
  endpoint: PostgresEndpoint,
  dial: Dial,
  signal: AbortSignal,
): Promise<PostgresConnection> {
  const both = AbortSignal.any([signal, AbortSignal.timeout(endpoint.connectMs)]);
  let failure: unknown;
  for (const encryption of endpoint.encryption) {
    try {
      return await open(endpoint, { endpoint, dial, encryption }, both);
    } catch (error) {
      failure = error;
      if (!isForThisEncryption(error)) break;
    }
  }
  throw connectError(failure, endpoint, both);
}

async function open(
  endpoint: PostgresEndpoint,
  options: StreamOptions,
  signal: AbortSignal,
): Promise<PostgresConnection> {
  const stream = await openStream(endpoint, options, signal);
  // A cancel must reach the same server, and a name may resolve to several.
  const address = { host: stream.remoteAddress ?? endpoint.host, port: endpoint.port };
  const backPressure = createBackPressure();
  const driver = driverFor(stream, endpoint, backPressure);
  const settings = settingsFor(endpoint);
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
    where: endpoint.where,
    driver,
    stream,
    backPressure,
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
        await sendCancel(driver, () => openStream(address, options, AbortSignal.timeout(CANCEL_MS)));
      } finally {
        stream.destroy();
      }
    },
    close() {
      isOpen = false;
      driver.end().catch(() => undefined);
      // The server may be any program, also one that never closes the connection.
      setTimeout(() => stream.destroy(), HANG_UP_MS).unref();
    },
  };
}

function driverFor(
  stream: Socket,
  { host, port, user, password, database, applicationName }: PostgresEndpoint,
  backPressure: BackPressure,
): pg.Client {
  return new pg.Client({
    stream: () => forDriver(stream, backPressure),
    ssl: false,
    host,
    port,
    user,
    // As a function, so that an empty password stays empty: the driver would look into the environment and into files.
    password: () => password,
    database,
    application_name: applicationName,
  });
}

/**
 * Settings that our parsing of values and our quoting rely on; they override those of the role and of the database. The order of day and
 * month stays. These are statements and not connection parameters, because poolers pass on statements only. The time limit ends
 * statements whose worker died, and does not replace one of the role. The last line lets a busy server notice a closed connection.
 */
function settingsFor({ isOurs }: PostgresEndpoint): string {
  return `
set standard_conforming_strings = on; set client_encoding = 'UTF8'; set datestyle = 'ISO'; set timezone = 'UTC';
set intervalstyle = 'iso_8601'; set bytea_output = 'hex'; set extra_float_digits = 1; set client_min_messages = notice;
select pg_catalog.set_config('statement_timeout', '3660s', false)
 where ${isOurs} or pg_catalog.current_setting('statement_timeout') = '0';
select pg_catalog.set_config('client_connection_check_interval', '10s', false)
 where pg_catalog.current_setting('server_version_num')::int >= 140000 and pg_catalog.version() !~* 'windows|mingw|visual'`;
}

/** The server answers a cancel by closing the connection, whether or not a statement was running. */
async function sendCancel(driver: pg.Client, open: () => Promise<Socket>): Promise<void> {
  // The driver sets both at sign-in; its types do not have them.
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
