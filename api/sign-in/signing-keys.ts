import { randomBytes } from 'node:crypto';
import { createLocalJWKSet, errors, exportJWK, generateKeyPair, type JWK, type JWTVerifyGetKey } from 'jose';
import { startPeriodicTask } from '#shared/concurrency/periodic-task.ts';
import { newID } from '#shared/core/ids.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import { inTransaction, type Pool, type PoolClient } from '#shared/db/pool.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';

const ALG = 'RS256';
const DAY_SECONDS = 86_400;
/** After this time the next key is made. */
const SIGNS_SECONDS = 30 * DAY_SECONDS;
/** A new key is published this long before it signs, so that every process and every client knows it by then. */
const AHEAD_SECONDS = 900;
/** A key stays published this long after the next one has begun to sign: far longer than a token is valid. */
const STAYS_SECONDS = DAY_SECONDS;
const RELOAD_MS = 60_000;
/** A token with an unknown key causes a reload, at most once in this time. */
const COOLDOWN_MS = 5_000;

export interface SigningKeys extends AsyncDisposable {
  /** Verifies tokens. */
  find: JWTVerifyGetKey;
  /** Private keys, with the one that signs first, and the secrets of cookies. A new object after each change. */
  current(): KeySet;
}

export interface KeySet {
  jwks: JWK[];
  cookieSecrets: string[];
}

interface Stored {
  id: string;
  purpose: 'token' | 'cookie';
  secret: string;
  ageSeconds: number;
}

interface Needs {
  pool: Pool;
  secrets: KeyRing;
  logger: Logger;
}

/** Keys in Postgres, sealed, which all processes share. Each process makes the next one in time; a lock lets one of them do it. */
export async function openSigningKeys({ pool, secrets, logger }: Needs): Promise<SigningKeys> {
  let keys: KeySet = { jwks: [], cookieSecrets: [] };
  let text = '';
  let verify: JWTVerifyGetKey = createLocalJWKSet({ keys: [] });
  let loadedAt = Number.NEGATIVE_INFINITY;

  async function load(): Promise<void> {
    loadedAt = performance.now();
    const next = keySetOf(await readKeys(pool, secrets));
    if (JSON.stringify(next) === text) return;
    text = JSON.stringify(next);
    keys = next;
    verify = createLocalJWKSet({ keys: next.jwks.map(publicPart) });
  }

  async function renew(): Promise<void> {
    await inTransaction(pool, (client) => rotate(client, secrets));
    await load();
  }

  await renew();
  const task = startPeriodicTask(
    { name: 'renew keys of the sign-in', everyMs: RELOAD_MS, firstAfterMs: RELOAD_MS, run: renew },
    logger,
  );
  return {
    current: () => keys,
    async find(header, token) {
      try {
        return await verify(header, token);
      } catch (error) {
        const isFresh = performance.now() - loadedAt < COOLDOWN_MS;
        if (!(error instanceof errors.JWKSNoMatchingKey) || isFresh) throw error;
        await load();
        return await verify(header, token);
      }
    },
    [Symbol.asyncDispose]: () => task[Symbol.asyncDispose](),
  };
}

/** Makes what is missing or old, and deletes what has served. */
async function rotate(client: PoolClient, secrets: KeyRing): Promise<void> {
  await client.query("select pg_advisory_xact_lock(hashtextextended('sign_in_key', 0))");
  const stored = await readKeys(client, secrets);
  const tokens = stored.filter(({ purpose }) => purpose === 'token');
  const [newest] = tokens;
  // Keys that no key of SECRETS_KEYS opens are not among them: users sign in again, with a new one.
  if (!newest || newest.ageSeconds > SIGNS_SECONDS) await add(client, secrets, 'token', await newSigningKey());
  if (!stored.some(({ purpose }) => purpose === 'cookie'))
    await add(client, secrets, 'cookie', randomBytes(32).toString('base64url'));
  const successor = tokens.find(({ ageSeconds }) => ageSeconds > AHEAD_SECONDS + STAYS_SECONDS);
  const served = tokens.filter(({ ageSeconds }) => successor && ageSeconds > successor.ageSeconds);
  await client.query('delete from sign_in_key where id = any($1)', [served.map(({ id }) => id)]);
}

async function newSigningKey(): Promise<string> {
  const { privateKey } = await generateKeyPair(ALG, { extractable: true });
  return JSON.stringify(await exportJWK(privateKey));
}

async function add(client: PoolClient, secrets: KeyRing, purpose: string, secret: string): Promise<void> {
  const id = newID();
  const sealed = secrets.seal(secret, sealedColumns.signInKey.context(id));
  await client.query('insert into sign_in_key (id, purpose, secret) values ($1, $2, $3)', [id, purpose, sealed]);
}

/** Newest first, opened. */
async function readKeys(db: Pick<Pool, 'query'> | PoolClient, secrets: KeyRing): Promise<Stored[]> {
  const { rows } = await db.query<Stored>(
    `select id, purpose, secret, extract(epoch from now() - created_at)::float8 as "ageSeconds"
     from sign_in_key order by created_at desc, id desc`,
  );
  return rows.flatMap((row) => {
    const secret = secrets.tryOpen(row.secret, sealedColumns.signInKey.context(row.id));
    return secret === undefined ? [] : [{ ...row, secret }];
  });
}

/** The newest key signs once it has been published for long enough; without another one, at once. */
function keySetOf(stored: readonly Stored[]): KeySet {
  const tokens = stored.filter(({ purpose }) => purpose === 'token');
  const signing = tokens.find(({ ageSeconds }) => ageSeconds > AHEAD_SECONDS) ?? tokens.at(-1);
  const ordered = tokens.toSorted((a, b) => Number(b === signing) - Number(a === signing));
  return {
    jwks: ordered.map(({ id, secret }) => ({ ...(JSON.parse(secret) as JWK), kid: id, alg: ALG, use: 'sig' })),
    cookieSecrets: stored.filter(({ purpose }) => purpose === 'cookie').map(({ secret }) => secret),
  };
}

function publicPart({ kty, n, e, kid, alg, use }: JWK): JWK {
  return { kty, n, e, kid, alg, use } as JWK;
}
