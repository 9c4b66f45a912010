import { createConnection, type Connection as Driver } from 'mysql2';
import { AppError } from '#shared/core/errors.ts';
import { type BackPressure, createBackPressure } from '../../../connections/back-pressure.ts';
import type { PooledConnection } from '../../../connections/connection-pool.ts';
import { guarded } from '../../../connections/guarded.ts';
import type { Outbound } from '../../../outbound/gate.ts';
import { unlessAborted } from '../../../outbound/unless-aborted.ts';
import { formatAddress, type Reason, reasonOf, upstreamError } from '../../../outbound/upstream-error.ts';
import type { MySQLEndpoint } from './endpoint.ts';

export interface MySQLConnection extends PooledConnection {
  readonly driver: Driver;
  readonly backPressure: BackPressure;
  /** Rejects when the connection breaks: the driver does not report that to a running query. */
  readonly broken: Promise<never>;
  /** Destroys the socket at once, without ending the protocol. */
  drop(): void;
}

export async function openMySQLConnection(
  endpoint: MySQLEndpoint,
  outbound: Outbound,
  signal: AbortSignal,
): Promise<MySQLConnection> {
  const both = AbortSignal.any([signal, AbortSignal.timeout(endpoint.connectMs)]);
  try {
    return await open(endpoint.host, { endpoint, outbound }, both);
  } catch (error) {
    throw connectError(error, endpoint, both);
  }
}

interface OpenOptions {
  endpoint: MySQLEndpoint;
  outbound: Outbound;
}

/** Connects to `host`: the host of the endpoint, or one of its addresses. */
async function open(host: string, options: OpenOptions, signal: AbortSignal): Promise<MySQLConnection> {
  const { endpoint, outbound } = options;
  const socket = await outbound.connect({ host, port: endpoint.port }, signal);
  // A kill must reach the same server, and a name may resolve to several.
  const address = socket.remoteAddress ?? host;
  socket.setKeepAlive(true, 30_000);
  const backPressure = createBackPressure();
  const driver = createConnection({ ...driverOptions(endpoint), stream: () => guarded(socket, backPressure) });
  const { promise: broken, reject } = Promise.withResolvers<never>();
  broken.catch(() => undefined);
  let isOpen = true;
  const onEnd = (error?: unknown) => {
    isOpen = false;
    reject(error ?? Object.assign(new Error('The server hung up'), { code: 'ECONNRESET' }));
  };
  driver.on('error', onEnd);
  driver.on('end', onEnd);
  socket.on('close', () => onEnd());
  const drop = () => {
    isOpen = false;
    socket.destroy();
  };
  const applySettings = () => asPromise((done) => driver.query(SETTINGS, done));
  // A reset of the connection does not undo a USE of another database.
  const useConfiguredDatabase = () =>
    asPromise((done) => driver.query(`use \`${endpoint.database.replaceAll('`', '``')}\``, done));
  try {
    await unlessAborted(signal, Promise.race([asPromise((done) => driver.connect(done)).then(applySettings), broken]));
  } catch (error) {
    drop();
    throw error;
  }
  return {
    driver,
    backPressure,
    broken,
    get isOpen() {
      return isOpen;
    },
    async reset() {
      await Promise.race([
        asPromise((done) => driver.reset(done))
          .then(applySettings)
          .then(useConfiguredDatabase),
        broken,
      ]);
    },
    async cancel() {
      try {
        await kill(driver.threadId, address, options);
      } finally {
        drop();
      }
    },
    drop,
    close() {
      isOpen = false;
      driver.end(() => undefined);
      // The server may be any program, also one that never closes the connection.
      setTimeout(() => socket.destroy(), 500).unref();
    },
  };
}

/** Kills the query from another connection, as the protocol requires. */
async function kill(threadID: number, address: string, options: OpenOptions): Promise<void> {
  const other = await open(address, options, AbortSignal.timeout(5_000));
  try {
    await asPromise((done) => other.driver.query(`KILL QUERY ${Number(threadID)}`, done));
  } finally {
    other.close();
  }
}

/**
 * Settings of each session. MySQL executes the first comment and MariaDB the second: a time limit of 61 minutes, which ends
 * statements whose worker died, unless the server has a shorter limit.
 */
const SETTINGS = `set names utf8mb4, time_zone = '+00:00'
 /*!50708 , max_execution_time = if(@@max_execution_time = 0, 3660000, @@max_execution_time) */
 /*M!100101 , max_statement_time = if(@@max_statement_time = 0, 3660, @@max_statement_time) */`;

/** Options of the driver. The flag LOCAL_FILES is off, because with it a server could ask for files of this machine. */
function driverOptions({
  host,
  port,
  user,
  password,
  database,
  ssl,
  sslVerify,
  caCertificate,
  connectMs,
}: MySQLEndpoint) {
  return {
    host,
    port,
    user,
    password,
    database,
    connectTimeout: connectMs,
    flags: ['-LOCAL_FILES', '-IGNORE_SPACE', '-ODBC'],
    charset: 'utf8mb4',
    timezone: 'Z',
    multipleStatements: false,
    supportBigNumbers: true,
    bigNumberStrings: true,
    dateStrings: true,
    jsonStrings: true,
    rowsAsArray: true,
    // The driver must not compile a parser, since column names come from the server.
    disableEval: true,
    ...(ssl && {
      ssl: {
        rejectUnauthorized: sslVerify,
        verifyIdentity: sslVerify,
        minVersion: 'TLSv1.2',
        ...(caCertificate !== '' && { ca: caCertificate }),
      },
    }),
  };
}

/** Turns a callback of the driver into a promise. */
function asPromise(call: (done: (error: Error | null) => void) => unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    call((error) => (error ? reject(error) : resolve()));
  });
}

const byCode: Readonly<Record<string, Reason>> = {
  ER_ACCESS_DENIED_ERROR: 'authentication',
  ER_ACCESS_DENIED_NO_PASSWORD_ERROR: 'authentication',
  ER_DBACCESS_DENIED_ERROR: 'authentication',
  ER_BAD_DB_ERROR: 'not-found',
  ER_CON_COUNT_ERROR: 'busy',
  ER_TOO_MANY_USER_CONNECTIONS: 'busy',
  ER_USER_LIMIT_REACHED: 'busy',
  ER_SERVER_SHUTDOWN: 'busy',
  HANDSHAKE_NO_SSL_SUPPORT: 'tls',
  HANDSHAKE_SSL_ERROR: 'tls',
  ER_SECURE_TRANSPORT_REQUIRED: 'tls',
  PROTOCOL_CONNECTION_LOST: 'lost',
};

/** Uses the code alone: the message could come from any program that answers. */
function connectError(error: unknown, endpoint: MySQLEndpoint, signal: AbortSignal): unknown {
  const where = formatAddress(endpoint.host, endpoint.port);
  if (signal.aborted) return upstreamError('timeout', where, error);
  if (error instanceof AppError) return error;
  return upstreamError(byCode[codeOf(error)] ?? reasonOf(error) ?? 'refused', where, error);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
