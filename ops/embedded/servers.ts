/** The Postgres and the Redis of `npm start`: those of DATABASE_URL and REDIS_URL, otherwise a Postgres of its own. */
import { join } from 'node:path';
import pg from 'pg';
import { withoutPasswords } from '#shared/core/logger.ts';
import type { RedisConfig } from '#shared/messaging/backplane/types.ts';
import type { EmbeddedConfig } from '#shared/process/config.ts';
import { codeOf } from './files.ts';
import { startPostgres } from './postgres.ts';

export interface Servers extends AsyncDisposable {
  readonly databaseURL: string;
  /** For people, without credentials. */
  readonly postgres: string;
  readonly queues: string;
  /** Settles only when an embedded server died and could not be brought back. */
  readonly lost: Promise<Error>;
}

/** Given servers are asked first, so that a wrong URL leaves nothing behind; disposing leaves them alone. */
export async function openServers({ databaseURL, redis }: EmbeddedConfig, homeDir: string): Promise<Servers> {
  const queues = redis ? await reachRedis(redis) : 'Postgres';
  if (databaseURL) {
    return {
      databaseURL,
      postgres: `given at ${await reachPostgres(databaseURL)}`,
      queues,
      lost: new Promise(() => {}),
      [Symbol.asyncDispose]: async () => {},
    };
  }
  const dir = join(homeDir, 'postgres');
  const embedded = await startPostgres({ dir, database: 'gantry', log: join(homeDir, 'logs/postgres.log') });
  return {
    databaseURL: embedded.url,
    postgres: `embedded at 127.0.0.1:${embedded.connection.port}, in ${dir}`,
    queues,
    lost: embedded.lost,
    [Symbol.asyncDispose]: () => embedded[Symbol.asyncDispose](),
  };
}

const TIMEOUT_MS = 5000;

async function reachPostgres(url: string): Promise<string> {
  const client = openClient(url);
  const server = `${client.host}:${client.port}`;
  const address = `${server}/${client.database}`;
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    if (codeOf(error) === '3D000')
      throw new Error(`DATABASE_URL: Postgres at ${server} has no database "${client.database}"; create it first`);
    throw new Error(`DATABASE_URL: Postgres at ${address} cannot be used: ${reason(error)}`);
  } finally {
    await client.end().catch(() => {});
  }
  return address;
}

/** Reads the certificates that the URL names. */
function openClient(url: string): pg.Client {
  try {
    return new pg.Client({ connectionString: url, connectionTimeoutMillis: TIMEOUT_MS });
  } catch (error) {
    throw new Error(`DATABASE_URL: ${reason(error)}`);
  }
}

async function reachRedis(config: RedisConfig): Promise<string> {
  const address = addressOf(config);
  // Loaded only with a Redis.
  const { probeRedis } = await import('#shared/messaging/backplane/redis.ts');
  try {
    await probeRedis(config, TIMEOUT_MS);
  } catch (error) {
    throw new Error(`REDIS_URL: Redis at ${address} cannot be used: ${reason(error)}`);
  }
  return `Redis at ${address}`;
}

function addressOf({ url, sentinels, sentinelMaster }: RedisConfig): string {
  if (sentinels.length > 0)
    return `${sentinelMaster} of the Sentinels ${sentinels.map(({ host, port }) => `${host}:${port}`).join(', ')}`;
  const { hostname, port, pathname } = new URL(url);
  return `${hostname || 'localhost'}:${port || 6379}${pathname.length > 1 ? pathname : ''}`;
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the server closed the connection',
  ENOTFOUND: 'the host is not known',
  EAI_AGAIN: 'the host name could not be resolved',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: `no answer within ${TIMEOUT_MS / 1000} s`,
  '28P01': 'the user name or the password is wrong',
};

/** Maps errors of drivers to one wording; some of them contain the URL with its password. */
function reason(error: unknown): string {
  const known = reasons[codeOf(error) ?? ''];
  if (known) return known;
  const message = error instanceof Error ? error.message : String(error);
  if (/timeout expired/i.test(message)) return `no answer within ${TIMEOUT_MS / 1000} s`;
  if (/^WRONGPASS|invalid password|invalid username-password/i.test(message)) return reasons['28P01'] ?? message;
  if (/^NOAUTH|client password must be a string/.test(message)) return 'it asks for a password';
  if (/RESP type|reply type byte/.test(message)) return 'it does not answer like Redis';
  if (/connection (is closed|terminated)/i.test(message)) return 'the server closed the connection';
  return withoutPasswords(message).split('\n', 1).join('');
}
