import { statfs } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createKeyRing } from '#shared/core/key-ring.ts';
import { createLogger } from '#shared/core/logger.ts';
import { createPool, type Pool } from '#shared/db/pool.ts';
import { findSealingKeys } from '#shared/db/sealed-rows.ts';
import { compareSchema, describeNewer, requireComplete } from '#shared/entities/schema.ts';
import { readRedisInfo } from '#shared/messaging/backplane/redis.ts';
import type { RedisConfig } from '#shared/messaging/backplane/types.ts';
import { type Config, readConfig, readEmbeddedConfig } from '#shared/process/config.ts';
import { countUnreadable, describeUnreadable } from '#shared/process/unreadable-secrets.ts';
import { commandEnvironment } from '../embedded/command-environment.ts';

export interface Finding {
  check: string;
  state: 'ok' | 'warn' | 'bad';
  found: string;
  /** The next step for the person. */
  advice?: string;
}

type Judged = Omit<Finding, 'check'>;

const TIMEOUT_MS = 5_000;
const OLDEST_POSTGRES = 14;
const OLDEST_REDIS = 7;
const OLDEST_NODE = 26;

/** Every check on its own: what one finds does not keep the others from being made. */
export async function examine(env: Record<string, string | undefined>): Promise<Finding[]> {
  const node = finding('Node', checkNode());
  const config = await settings(env).catch((error: Error) => error);
  if (config instanceof Error) {
    const advice = 'Correct the settings that the message names, or start Gantry first (npm start).';
    return [node, { check: 'settings', state: 'bad', found: config.message, advice }];
  }
  const pool = createPool(config.db, createLogger({ level: 'silent' }, { process: 'doctor' }), {
    max: 1,
    name: 'gantry.doctor',
  });
  try {
    return [
      node,
      finding('settings', { state: 'ok', found: config.production ? 'production' : 'development' }),
      await checked('Postgres', checkPostgres(pool)),
      await checked('schema', checkSchema(pool)),
      await checked('connections', checkConnections(pool)),
      await checked('clock', checkClock(pool)),
      await checked('keys', checkKeys(pool, config)),
      await checked('Redis', checkRedis(config.backplane.redis)),
      await checked('disk', checkDisk(env)),
    ];
  } finally {
    await pool.end();
  }
}

async function settings(env: Record<string, string | undefined>): Promise<Config> {
  return readConfig(env.DATABASE_URL ? env : await commandEnvironment());
}

function finding(check: string, judged: Judged): Finding {
  return { check, ...judged };
}

async function checked(check: string, judged: Promise<Judged>): Promise<Finding> {
  return judged.then(
    (found) => finding(check, found),
    (error: Error) =>
      finding(check, {
        state: 'bad',
        found: error.message || String(error),
        advice: 'Make it reachable for this command and for every process of Gantry.',
      }),
  );
}

function checkNode(): Judged {
  const major = Number(process.versions.node.split('.')[0]);
  if (major >= OLDEST_NODE) return { state: 'ok', found: process.versions.node };
  return { state: 'bad', found: process.versions.node, advice: `Install Node ${OLDEST_NODE} or newer.` };
}

async function checkPostgres(pool: Pool): Promise<Judged> {
  const { rows } = await pool.query<{ version: string; fsync: string; commit: string }>(
    `select current_setting('server_version') as version, current_setting('fsync') as fsync,
       current_setting('synchronous_commit') as commit`,
  );
  const { version = '', fsync, commit } = rows[0] ?? {};
  const found = `${version}, fsync ${fsync}, synchronous_commit ${commit}`;
  if (Number.parseInt(version, 10) < OLDEST_POSTGRES)
    return { state: 'bad', found, advice: `Upgrade to Postgres ${OLDEST_POSTGRES} or newer.` };
  // Gantry commits steps without waiting where that is safe; what it waits for must be on disk.
  if (fsync === 'off')
    return { state: 'bad', found, advice: 'Set fsync = on: after a crash the database may be lost.' };
  if (commit === 'off')
    return { state: 'warn', found, advice: 'Set synchronous_commit = on: accepted runs may be lost in a crash.' };
  return { state: 'ok', found };
}

async function checkSchema(pool: Pool): Promise<Judged> {
  try {
    const comparison = await compareSchema(pool);
    requireComplete(comparison);
    const newer = describeNewer(comparison);
    if (newer === undefined) return { state: 'ok', found: 'current' };
    return { state: 'warn', found: 'newer than this program', advice: `${newer}.` };
  } catch (error) {
    return { state: 'bad', found: (error as Error).message, advice: 'Run: npm run migrate' };
  }
}

async function checkConnections(pool: Pool): Promise<Judged> {
  const { rows } = await pool.query<{ used: number; most: number }>(
    `select count(*)::int as used, current_setting('max_connections')::int as most from pg_stat_activity`,
  );
  const { used = 0, most = 0 } = rows[0] ?? {};
  const found = `${used} of ${most} used`;
  if (used < most * 0.8) return { state: 'ok', found };
  return { state: 'warn', found, advice: 'Raise max_connections, lower DATABASE_POOL, or run fewer processes.' };
}

/** Half of the round trip is taken off, as it passes before the server reads its clock. */
async function checkClock(pool: Pool): Promise<Judged> {
  const before = Date.now();
  const { rows } = await pool.query<{ now: number }>(
    'select extract(epoch from clock_timestamp())::float8 * 1000 as now',
  );
  const after = Date.now();
  const ms = Math.round(Math.abs((rows[0]?.now ?? 0) - (before + after) / 2));
  const found = `${ms} ms from that of Postgres`;
  if (ms < 1_000) return { state: 'ok', found };
  const advice = 'Synchronise the clocks of all machines (chrony, systemd-timesyncd): tokens and cron jobs go by them.';
  return { state: ms < 5_000 ? 'warn' : 'bad', found, advice };
}

/** Which keys sealed what is stored, by the name that each sealed value carries, and what none of those here opens. */
async function checkKeys(pool: Pool, { secrets }: Config): Promise<Judged> {
  const known = secrets.keys.map(({ id }) => id);
  const [newest] = known;
  if (!newest)
    return { state: 'bad', found: 'none', advice: 'Set SECRETS_KEYS="k1:$(openssl rand -base64 32)", and keep it.' };
  const used = await findSealingKeys(pool);
  const found = `${known.length} known, newest ${newest}; in use: ${used.join(', ') || 'none'}`;
  const fault = describeUnreadable(await countUnreadable(pool, createKeyRing(secrets.keys)));
  if (fault !== undefined)
    return {
      state: 'bad',
      found,
      advice: `Add the lost keys to SECRETS_KEYS again, or save what they sealed again: ${fault}.`,
    };
  if (used.some((key) => key !== newest)) return { state: 'warn', found, advice: 'Run: npm run rotate-secrets' };
  return { state: 'ok', found };
}

async function checkRedis(redis: RedisConfig | undefined): Promise<Judged> {
  if (!redis) return { state: 'ok', found: 'not used: queues are in Postgres' };
  const info = await readRedisInfo(redis, TIMEOUT_MS);
  const field = (name: string) => new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1]?.trim() ?? '?';
  const [version, policy, append] = [field('redis_version'), field('maxmemory_policy'), field('aof_enabled')];
  const persistence =
    append === '1' ? 'appendonly on' : 'appendonly off, which is enough: the sweep fills queues again from Postgres';
  const found = `${version}, eviction ${policy}, ${persistence}`;
  if (Number.parseInt(version, 10) < OLDEST_REDIS)
    return { state: 'bad', found, advice: `Upgrade to Redis ${OLDEST_REDIS}.` };
  if (policy !== 'noeviction')
    return { state: 'bad', found, advice: 'Set maxmemory-policy noeviction: Redis deletes jobs and limits otherwise.' };
  const save = field('rdb_last_bgsave_status');
  if (save !== 'ok')
    return {
      state: 'warn',
      found,
      advice: 'The last snapshot has failed, and Redis may refuse writes: look at its log and its disk.',
    };
  return { state: 'ok', found };
}

/** Checks the folder where this machine keeps data; the disk of a Postgres elsewhere cannot be seen. */
async function checkDisk(env: Record<string, string | undefined>): Promise<Judged> {
  const folder = resolve(env.FILES_DIR || (env.DATABASE_URL ? '.' : readEmbeddedConfig().home));
  const { bavail, blocks, bsize } = await statfs(folder);
  const share = bavail / blocks;
  const found = `${Math.round((bavail * bsize) / 1e9)} GB free (${Math.round(share * 100)} %) in ${folder}`;
  if (share > 0.1) return { state: 'ok', found };
  return {
    state: share > 0.03 ? 'warn' : 'bad',
    found,
    advice: 'Make room, or shorten RUN_RETENTION_DAYS and AUDIT_RETENTION_DAYS.',
  };
}
