import { connect, type Socket } from 'node:net';
import pg from 'pg';
import { invalidField } from '#shared/core/schema/issues.ts';
import { readDatabaseURL } from '#shared/datasources/tenant-database/url.ts';
import { type PostgresEndpoint, securityOf } from '../../connections/postgresql/endpoint.ts';
import type { Dial } from '../../connections/postgresql/stream.ts';
import { unlessAborted } from '../../outbound/unless-aborted.ts';
import { formatAddress } from '../../outbound/upstream-error.ts';
import type { OwnDatabase } from './owner-role.ts';

const common = { applicationName: 'gantry', connectMs: 5_000 };

/** Endpoint of the database that a tenant has configured. */
export function endpointOfURL(url: string): PostgresEndpoint {
  const read = readDatabaseURL(url);
  if (typeof read === 'string') throw invalidField('tenantDBURL', read);
  const { sslmode, ...parts } = read;
  const where = formatAddress(parts.host, parts.port);
  return { ...common, ...parts, ...securityOf(sslmode, parts), where, isOurs: false };
}

/** Endpoint of a database on the deployment's own server, with the deployment's settings of encryption. */
export function endpointOfOwn(
  serverURL: string,
  { databaseName, roleName, password }: Pick<OwnDatabase, 'databaseName' | 'roleName' | 'password'>,
): PostgresEndpoint {
  // This client never connects: it parses the URL as the driver does for the deployment's own connections.
  const { host, port, ssl } = new pg.Client({ connectionString: serverURL }) as pg.Client & {
    ssl: boolean | PostgresEndpoint['tls'];
  };
  return {
    ...common,
    ...{ host, port, database: databaseName, user: roleName, password },
    ...ownSecurity(ssl, host),
    // Tenants must not learn the address of the deployment's server.
    where: "the tenant's database",
    isOurs: true,
  };
}

function ownSecurity(
  ssl: boolean | PostgresEndpoint['tls'],
  host: string,
): Pick<PostgresEndpoint, 'encryption' | 'tls'> {
  if (!ssl) return { encryption: ['never'], tls: {} };
  const { tls } = securityOf('verify-full', { host });
  if (ssl === true) return { encryption: ['always'], tls };
  // The driver makes `key` non-enumerable, so the spread leaves it out.
  return { encryption: ['always'], tls: { ...tls, ...ssl, ...(ssl.key && { key: ssl.key }) } };
}

/** Connects without the gate, since no tenant has chosen the address; it may be a socket of this machine. */
export const dialOwn: Dial = async ({ host, port }, signal) => {
  const socket: Socket = host.startsWith('/')
    ? connect({ path: `${host}/.s.PGSQL.${port}` })
    : connect({ host, port, noDelay: true });
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  socket.once('connect', () => resolve(socket)).once('error', reject);
  try {
    return await unlessAborted(signal, promise);
  } catch (error) {
    socket.destroy();
    throw error;
  }
};
