import { z } from 'zod';
import { readConnectionURL } from './connection-url.ts';

/** How to reach a tenant's database. */
export interface DatabaseTarget {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
  /**
   * As libpq means it: `prefer` encrypts where the server offers it, `require` always, and both believe anybody; `verify-full`
   * asks for a certificate of this very host.
   */
  sslmode: 'disable' | 'prefer' | 'require' | 'verify-full';
}

const sslmodes: Record<string, DatabaseTarget['sslmode']> = {
  disable: 'disable',
  prefer: 'prefer',
  require: 'require',
  'verify-full': 'verify-full',
};

/** The URL of a tenant's database. Messages never repeat any of it. */
export const DatabaseURL = z
  .string()
  .min(1)
  .max(2_048)
  .superRefine((text, check) => {
    const read = readDatabaseURL(text);
    if (typeof read === 'string') check.addIssue({ code: 'custom', message: read });
  });

/** The target, or what is wrong with the text. */
export function readDatabaseURL(text: string): DatabaseTarget | string {
  const url = readConnectionURL(text, {
    schemes: ['postgres', 'postgresql'],
    otherwise: '(no other kind of database is supported)',
    parameters: { sslmode: Object.keys(sslmodes) },
  });
  if (typeof url === 'string') return url;
  const { parameters, port = 5432, ...parts } = url;
  return { ...parts, port, sslmode: sslmodes[parameters.sslmode ?? 'prefer'] ?? 'prefer' };
}
