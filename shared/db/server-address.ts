import pg from 'pg';
import type { Place } from '../core/setting-formats.ts';

/** Where the driver connects to for a URL: never connected, it only parses. The host begins with a slash if it is a socket's folder. */
export function serverPlace(connectionString: string): Place {
  const { host, port } = new pg.Client({ connectionString });
  return { host, port };
}
