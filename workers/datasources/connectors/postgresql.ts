import type { z } from 'zod';
import { invalidField } from '#shared/core/schema/issues.ts';
import { readConnectionURL } from '#shared/datasources/connection-url.ts';
import type { postgresql } from '#shared/datasources/types/postgresql.ts';
import { createConnectionPool } from '../../connections/connection-pool.ts';
import { openPostgresConnection, type PostgresConnection } from '../../connections/postgresql/connection.ts';
import { createDatasourceConnection } from '../../connections/postgresql/datasource-connection.ts';
import { type PostgresEndpoint, securityOf } from '../../connections/postgresql/endpoint.ts';
import { readably } from '../../connections/postgresql/errors.ts';
import { formatAddress } from '../../outbound/upstream-error.ts';
import type { Connector } from './connector.ts';

export const connectPostgresql: Connector<typeof postgresql> = (options, { outbound }) => {
  const endpoint = endpointOf(options);
  const pool = createConnectionPool<PostgresConnection>({
    where: endpoint.where,
    maxConnections: 4,
    find: async () => ({ key: '', open: (signal) => openPostgresConnection(endpoint, outbound.connect, signal) }),
  });
  return {
    ...createDatasourceConnection({
      where: endpoint.where,
      withConnection: (signal, work) => pool.withConnection(signal, readably(work)),
    }),
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
};

const sslModes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;

type Options = z.output<typeof postgresql.options>;

export function endpointOf(options: Options): PostgresEndpoint {
  if (options.connectionOption === 'connectionDetails') {
    const { host, port, database, user, password, sslMode, caCertificate, additionalOptions } =
      options.connectionDetails;
    const { applicationName, connectTimeout } = additionalOptions;
    return {
      ...{ host, port, database, user, password, applicationName },
      ...securityOf(sslMode, { host, caCertificate }),
      where: formatAddress(host, port),
      connectMs: connectTimeout * 1_000,
      isOurs: false,
    };
  }
  const url = readConnectionURL(options.connectionString, {
    schemes: ['postgresql', 'postgres'],
    parameters: { sslmode: sslModes },
  });
  if (typeof url === 'string') throw invalidField('datasourceOptions.connectionString', url);
  const { parameters, port = 5432, ...parts } = url;
  const sslMode = sslModes.find((mode) => mode === parameters.sslmode) ?? 'prefer';
  return {
    ...parts,
    ...securityOf(sslMode, parts),
    port,
    where: formatAddress(parts.host, port),
    applicationName: 'gantry',
    connectMs: 5_000,
    isOurs: false,
  };
}
