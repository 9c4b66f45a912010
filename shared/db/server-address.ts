import pg from 'pg';
import type { ServerAddress } from '../core/setting-formats.ts';

/** The address to which the driver would connect for a URL. The client only parses it here. A host with a slash is the folder of a socket. */
export function serverAddress(connectionString: string): ServerAddress {
  const { host, port } = new pg.Client({ connectionString });
  return { host, port };
}
