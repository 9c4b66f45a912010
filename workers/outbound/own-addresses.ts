import type { ServerAddress } from '#shared/core/setting-formats.ts';
import { serverAddress } from '#shared/db/server-address.ts';
import type { RedisConfig } from '#shared/messaging/backplane/types.ts';
import type { Config } from '#shared/process/config.ts';
import type { Denied, DeniedServer } from './denied.ts';

/** The settings that name servers of the deployment. */
export type OwnSettings = Pick<
  Config,
  'outbound' | 'db' | 'backplane' | 'tenantDatabases' | 'http' | 'board' | 'mcp' | 'metrics' | 'oauth' | 'files'
>;

/** The listeners and stores of the deployment, and what OUTBOUND_DENY adds. */
export function deniedBy({
  outbound,
  db,
  backplane,
  tenantDatabases,
  http,
  board,
  mcp,
  metrics,
  oauth,
  files,
}: OwnSettings): Denied {
  const servers: DeniedServer[] = [
    ...outbound.deny.servers,
    ...[http, board, mcp, ...(metrics ? [metrics] : [])].map(({ host, port }) => ({ host, port })),
    ...[...new Set([db.url, backplane.databaseURL, ...tenantDatabases.servers.map(({ url }) => url)])].map(postgresAt),
    ...(backplane.redis ? redisAt(backplane.redis) : []),
    ...(files.s3?.endpoint === undefined ? [] : [urlAt(files.s3.endpoint)]),
    ...[oauth.publicURL, mcp.publicURL].flatMap((url) => (url ? [{ ...urlAt(url), unlessPublic: true }] : [])),
  ];
  // A listener on port 0 has a port that only its own process knows.
  return { networks: outbound.deny.networks, servers: servers.filter(({ port }) => port > 0) };
}

function postgresAt(url: string): ServerAddress {
  const { host, port } = serverAddress(url);
  // A server with a socket on this machine may have the port of that name as well.
  return { host: host.startsWith('/') ? '127.0.0.1' : host, port };
}

function redisAt({ url, sentinels }: RedisConfig): ServerAddress[] {
  return sentinels.length > 0 ? sentinels : [urlAt(url)];
}

const defaultPorts: Readonly<Record<string, number>> = { 'redis:': 6379, 'rediss:': 6379, 'http:': 80, 'https:': 443 };

function urlAt(text: string): ServerAddress {
  const { protocol, hostname, port } = new URL(text);
  return {
    host: hostname.replace(/^\[|\]$/g, '') || 'localhost',
    port: port === '' ? (defaultPorts[protocol] ?? 0) : Number(port),
  };
}
