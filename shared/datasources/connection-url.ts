/** Parts of the URL of a server. */
export interface ConnectionURL {
  host: string;
  /** Undefined: the default port of the protocol. */
  port: number | undefined;
  user: string;
  password: string;
  database: string;
  parameters: Readonly<Record<string, string>>;
}

export interface URLForm {
  /** Schemes without the colon, the usual one first. */
  schemes: readonly [string, ...string[]];
  /** Added to the error message about another scheme. */
  otherwise?: string;
  /** Allowed parameters after `?`, with their allowed values. */
  parameters: Readonly<Record<string, readonly string[]>>;
}

/**
 * Parses the URL, or returns an error message, which never repeats parts of the URL. Drivers do not get the URL: with its
 * parameters a tenant could choose files of the worker, a socket of the machine or another host.
 */
export function readConnectionURL(text: string, form: URLForm): ConnectionURL | string {
  const names = form.schemes.map((scheme) => `${scheme}://`);
  if (!names.some((name) => text.toLowerCase().startsWith(name)))
    return ['must begin with', names.join(' or '), form.otherwise].filter(Boolean).join(' ');
  const url = URL.parse(text);
  const example = `${names[0]}user:password@host:port/database`;
  if (!url) return `is not a URL like ${example} (special characters must be percent-encoded)`;
  const parts = decoded(url);
  if (!parts) return 'has a % that does not begin a percent-encoded character';
  return (
    faultOf(parts, example) ??
    parameterFault(url, form) ?? {
      ...parts,
      port: url.port === '' ? undefined : Number(url.port),
      parameters: Object.fromEntries(url.searchParams),
    }
  );
}

type Parts = Pick<ConnectionURL, 'host' | 'user' | 'password' | 'database'>;

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

function faultOf({ host, user, password, database }: Parts, example: string): string | undefined {
  if (!/^[\w.:-]{1,253}$/.test(host)) return `must name one host (${example})`;
  if (!user) return 'must name a user';
  if (!database) return 'must name a database';
  if ([user, password, database].some((part) => part.includes('\0'))) return 'must not have a NUL character';
  return undefined;
}

function parameterFault({ searchParams, hash }: URL, { parameters }: URLForm): string | undefined {
  if (hash) return 'must not have a part after #: percent-encode it';
  const known = Object.keys(parameters);
  for (const [name, value] of searchParams) {
    if (!Object.hasOwn(parameters, name))
      return `must not have the parameter "${name.slice(0, 40)}": only ${known.join(', ')} is supported`;
    const allowed = parameters[name] ?? [];
    if (!allowed.includes(value)) return `must have an ${name} of ${allowed.join(', ')}`;
  }
  return undefined;
}
