import { isIP } from 'node:net';
import type { z } from 'zod';
import { invalidField } from '#shared/core/schema/issues.ts';
import { readConnectionURL } from '#shared/datasources/connection-url.ts';
import type { mysql } from '#shared/datasources/types/mysql.ts';

type Options = z.output<typeof mysql.options>;
type Details = Extract<Options, { connectionOption: 'connectionDetails' }>['connectionDetails'];

/** Address and credentials. */
export interface MySQLEndpoint extends Omit<Details, 'connectionName' | 'additionalOptions'> {
  connectMs: number;
}

const booleans = ['true', 'false'] as const;

export function endpointOf(options: Options): MySQLEndpoint {
  const endpoint = options.connectionOption === 'connectionDetails' ? fromDetails(options) : fromURL(options);
  // The driver would compare the certificate with no name at all.
  if (endpoint.ssl && endpoint.sslVerify && isIP(endpoint.host) !== 0)
    throw invalidField(
      'datasourceOptions.connectionDetails.host',
      'must be a name, not an address, for a certificate to be verified',
    );
  return endpoint;
}

function fromDetails({ connectionDetails }: Extract<Options, { connectionDetails: unknown }>): MySQLEndpoint {
  const { additionalOptions, ...details } = connectionDetails;
  return { ...details, connectMs: additionalOptions.connectTimeout };
}

function fromURL({ connectionString }: Extract<Options, { connectionString: unknown }>): MySQLEndpoint {
  const url = readConnectionURL(connectionString, {
    schemes: ['mysql', 'mariadb'],
    parameters: { ssl: booleans, sslVerify: booleans },
  });
  if (typeof url === 'string') throw invalidField('datasourceOptions.connectionString', url);
  const { parameters, port = 3306, ...parts } = url;
  const { ssl = 'false', sslVerify = 'true' } = parameters;
  return {
    ...parts,
    port,
    ssl: ssl === 'true',
    sslVerify: sslVerify === 'true',
    caCertificate: '',
    connectMs: 10_000,
  };
}
