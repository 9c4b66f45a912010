import { z } from 'zod';
import { readConnectionURL } from '../connection-url.ts';

/** Address and credentials of a tenant's database. */
export interface DatabaseTarget {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
  /**
   * As in libpq: `prefer` encrypts if the server offers it, `require` always, and both accept any certificate; `verify-full`
   * requires a valid certificate of this host.
   */
  sslmode: 'disable' | 'prefer' | 'require' | 'verify-full';
}

const sslmodes: Record<string, DatabaseTarget['sslmode']> = {
  disable: 'disable',
  prefer: 'prefer',
  require: 'require',
  'verify-full': 'verify-full',
};

/** The URL of a tenant's database. Error messages never repeat parts of it. */
export const DatabaseURL = z
  .string()
  .min(1)
  .max(2_048)
  .superRefine((text, check) => {
    const read = readDatabaseURL(text);
    if (typeof read === 'string') check.addIssue({ code: 'custom', message: read });
  });

/** Parses the URL, or returns an error message. */
export function readDatabaseURL(text: string): DatabaseTarget | string {
  const url = readConnectionURL(text, {
    schemes: ['postgres', 'postgresql'],
    otherwise: '(other databases are not supported)',
    parameters: { sslmode: Object.keys(sslmodes) },
  });
  if (typeof url === 'string') return url;
  const { parameters, port = 5432, ...parts } = url;
  return { ...parts, port, sslmode: sslmodes[parameters.sslmode ?? 'prefer'] ?? 'prefer' };
}
