import { z } from 'zod';

/** How to reach a tenant's database. */
export interface DatabaseTarget {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
  /** As libpq means it: `require` encrypts and believes anybody, `verify-full` asks for a certificate of this very host. */
  sslmode: 'disable' | 'require' | 'verify-full';
}

const sslmodes: Record<string, DatabaseTarget['sslmode']> = {
  disable: 'disable',
  require: 'require',
  'verify-full': 'verify-full',
};

/**
 * The URL of a tenant's database. What a driver would make of its parameters is not for a tenant to choose (files of the worker,
 * a socket of the machine, another host), so there are few of them. Messages never repeat any of it.
 */
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
  if (!/^postgres(ql)?:\/\//i.test(text))
    return 'must begin with postgres:// or postgresql:// (no other kind of database is supported)';
  const url = URL.parse(text);
  if (!url)
    return 'is not a URL like postgres://user:password@host:5432/database (special characters must be percent-encoded)';
  const parts = decoded(url);
  if (!parts) return 'has a % that does not begin a percent-encoded character';
  const fault = faultOf(url, parts);
  if (fault !== undefined) return fault;
  const sslmode = sslmodes[url.searchParams.get('sslmode') ?? 'disable'] ?? 'disable';
  return { ...parts, port: Number(url.port || 5432), sslmode };
}

type Parts = Pick<DatabaseTarget, 'host' | 'user' | 'password' | 'database'>;

function decoded({ hostname, username, password, pathname }: URL): Parts | undefined {
  try {
    return {
      host: decodeURIComponent(hostname).replace(/^\[(.*)\]$/, '$1'),
      user: decodeURIComponent(username),
      password: decodeURIComponent(password),
      database: decodeURIComponent(pathname.slice(1)),
    };
  } catch {
    return undefined;
  }
}

function faultOf({ searchParams, hash }: URL, { host, user, database }: Parts): string | undefined {
  if (!/^[\w.:-]{1,253}$/.test(host)) return 'must name one host (postgres://user:password@host:5432/database)';
  if (!user) return 'must name a user';
  if (!database) return 'must name a database';
  if (hash) return 'must not have a part after #: percent-encode it';
  for (const name of searchParams.keys())
    if (name !== 'sslmode') return `must not have the parameter "${name.slice(0, 40)}": only sslmode is supported`;
  const sslmode = searchParams.get('sslmode');
  if (sslmode !== null && !Object.hasOwn(sslmodes, sslmode))
    return `must have an sslmode of ${Object.keys(sslmodes).join(', ')}`;
  return undefined;
}
