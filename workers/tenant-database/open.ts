import pg from 'pg';
import { type DatabaseTarget, readDatabaseURL } from '#shared/database-url.ts';
import { AppError } from '#shared/errors.ts';
import { unlessAborted } from '#shared/unless-aborted.ts';
import { forDriver, openStream } from '../connectors/postgresql/stream.ts';
import type { Outbound } from '../outbound.ts';
import type { OwnDatabase } from './provision.ts';

export type TenantClient = pg.Client & AsyncDisposable;

interface Means {
  outbound: Outbound;
  signal: AbortSignal;
}

const CONNECT_MS = 5_000;
const HANG_UP_MS = 500;

/** A connection to a tenant's database with the tenant's own credentials. Whatever goes wrong is said without any of them. */
export async function openTenantDatabase(url: string, means: Means): Promise<TenantClient> {
  const target = readDatabaseURL(url);
  if (typeof target === 'string') throw new AppError('VALIDATION_ERROR', `tenantDBURL: ${target}`);
  let failure: AppError | undefined;
  for (const address of await means.outbound.resolve(target.host, means.signal)) {
    try {
      return await connect(address, target, means);
    } catch (error) {
      failure = toUpstreamError(error, target, means.signal);
      // Another address of the same host is worth trying only when this one was not there.
      if (reasonOf(failure) !== 'unreachable') break;
    }
  }
  throw failure ?? new AppError('UPSTREAM_FAILED', `There is no host ${target.host}`);
}

/** The same to a database that is ours, on the deployment's own server, which no tenant has named. */
export async function openOwnDatabase(
  serverURL: string,
  { databaseName, roleName, password }: Pick<OwnDatabase, 'databaseName' | 'roleName' | 'password'>,
  signal: AbortSignal,
): Promise<TenantClient> {
  const url = new URL(serverURL);
  url.username = roleName;
  url.password = password;
  url.pathname = `/${databaseName}`;
  for (const name of ['options', 'user', 'password', 'dbname', 'application_name']) url.searchParams.delete(name);
  try {
    return await signIn({ connectionString: url.href }, signal);
  } catch (error) {
    const target = { host: url.hostname || 'the server', port: Number(url.port || 5432) };
    throw toUpstreamError(error, target, signal);
  }
}

async function connect(
  address: string,
  { sslmode: sslMode, ...target }: DatabaseTarget,
  { outbound, signal }: Means,
): Promise<TenantClient> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(CONNECT_MS)]);
  const place = { host: address, port: target.port };
  const encryption = sslMode === 'disable' ? 'never' : 'always';
  // The connection goes to an address; the certificate is for the host that the URL says.
  const stream = await openStream(
    place,
    { target: { ...target, sslMode, caCertificate: '' }, encryption, outbound },
    limit,
  );
  const config = {
    stream: () => forDriver(stream),
    ssl: false,
    ...place,
    user: target.user,
    // As a function, an empty one is empty: the driver would look for another in the environment and in files.
    password: () => target.password,
    database: target.database,
  };
  return signIn(config, signal);
}

async function signIn(config: pg.ClientConfig, signal: AbortSignal): Promise<TenantClient> {
  const client = new pg.Client({ ...config, connectionTimeoutMillis: CONNECT_MS, application_name: 'gantry' });
  // A connection that breaks later shows in the query that wanted it.
  client.on('error', () => undefined);
  try {
    await unlessAborted(signal, client.connect());
  } catch (error) {
    client.connection.stream.destroy();
    throw error;
  }
  return Object.assign(client, { [Symbol.asyncDispose]: () => close(client) });
}

/** What answers may be anything, also something that never hangs up. */
async function close(client: pg.Client): Promise<void> {
  const patience = setTimeout(() => client.connection.stream.destroy(), HANG_UP_MS);
  await client.end().catch(() => undefined);
  clearTimeout(patience);
}

type Reason = 'unreachable' | 'timeout' | 'authentication' | 'no-database' | 'tls' | 'busy' | 'refused';

function reasonOf({ details }: AppError): unknown {
  return (details as { reason?: Reason } | undefined)?.reason;
}

function toUpstreamError(
  cause: unknown,
  { host, port }: Pick<DatabaseTarget, 'host' | 'port'>,
  signal: AbortSignal,
): AppError {
  const reason = signal.aborted ? 'timeout' : explain(cause);
  return new AppError('UPSTREAM_FAILED', messages[reason](`${host.includes(':') ? `[${host}]` : host}:${port}`), {
    cause,
    details: { reason },
  });
}

const messages: Record<Reason, (where: string) => string> = {
  unreachable: (where) => `Nothing answers at ${where}`,
  timeout: (where) => `${where} did not answer in time`,
  authentication: (where) => `The database at ${where} does not accept this user and password`,
  'no-database': (where) => `There is no such database at ${where}`,
  tls: (where) => `No encrypted connection to ${where}: it offers none, or its certificate is not trusted`,
  busy: (where) => `The database at ${where} takes no more connections`,
  refused: (where) => `What answers at ${where} is not a database that lets this user in`,
};

const byCode: Record<string, Reason> = {
  '28P01': 'authentication',
  '28000': 'authentication',
  '3D000': 'no-database',
  '53300': 'busy',
  '57P03': 'busy',
  ECONNREFUSED: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
  ETIMEDOUT: 'timeout',
};

/** From the code alone: what a server says in words is whatever it wants a tenant to read. */
function explain(error: unknown): Reason {
  if (!(error instanceof Error)) return 'refused';
  // From before the protocol began.
  const said = error instanceof AppError ? reasonOf(error) : undefined;
  if (typeof said === 'string' && Object.hasOwn(messages, said)) return said as Reason;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const known = Object.hasOwn(byCode, code) ? byCode[code] : undefined;
  if (known) return known;
  if (/CERT|TLS|SSL|SELF_SIGNED|VERIFY/.test(code)) return 'tls';
  // The driver's own errors, which have no code.
  if (/timeout/.test(error.message)) return 'timeout';
  if (/client password must be/.test(error.message)) return 'authentication';
  if (/SSL connections/.test(error.message)) return 'tls';
  return 'refused';
}
