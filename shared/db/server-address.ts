import pg from 'pg';
import type { ServerAddress } from '../core/setting-formats.ts';

/** Where the driver connects to for a URL: never connected, it only parses. The host begins with a slash if it is a socket's folder. */
export function serverAddress(connectionString: string): ServerAddress {
  const { host, port } = new pg.Client({ connectionString });
  return { host, port };
}
