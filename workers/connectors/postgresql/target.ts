import type { z } from 'zod';
import { readConnectionURL } from '#shared/connection-url.ts';
import type { postgresql } from '#shared/datasources/postgresql.ts';
import { AppError } from '#shared/errors.ts';

type Options = z.output<typeof postgresql.options>;
type Details = Extract<Options, { connectionOption: 'connectionDetails' }>['connectionDetails'];

/** Which server, and as whom. */
export interface Target
  extends Pick<Details, 'host' | 'port' | 'database' | 'user' | 'password' | 'sslMode' | 'caCertificate'> {
  applicationName: string;
  connectMs: number;
}

const sslModes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;

export function targetOf(options: Options): Target {
  if (options.connectionOption === 'connectionDetails') {
    const { additionalOptions, ...details } = options.connectionDetails;
    const { applicationName, connectTimeout } = additionalOptions;
    return { ...details, applicationName, connectMs: connectTimeout * 1_000 };
  }
  const url = readConnectionURL(options.connectionString, {
    schemes: ['postgresql', 'postgres'],
    parameters: { sslmode: sslModes },
  });
  if (typeof url === 'string') throw new AppError('VALIDATION_ERROR', `datasourceOptions.connectionString: ${url}`);
  const { parameters, port = 5432, ...parts } = url;
  const sslMode = sslModes.find((mode) => mode === parameters.sslmode) ?? 'prefer';
  return { ...parts, port, sslMode, caCertificate: '', applicationName: 'gantry', connectMs: 5_000 };
}
