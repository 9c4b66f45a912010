import { startPeriodicTask } from '../concurrency/periodic-task.ts';
import { createKeyRing, fingerprintOf, type KeyRing, type SecretKey } from '../core/key-ring.ts';
import type { Logger } from '../core/logger.ts';
import type { Pool } from '../db/pool.ts';
import { countUnreadable, describeUnreadable } from './unreadable-secrets.ts';

/** The key ring of SECRETS_KEYS, with ids that this database has given to no other key. */
export async function openKeyRing(keys: readonly SecretKey[], pool: Pick<Pool, 'query'>): Promise<KeyRing> {
  return createKeyRing(await withUniqueIDs(keys, pool));
}

/** Knows what is stored and cannot be opened. */
export interface SecretsCheck {
  /** A sentence for people; undefined if every stored secret can be opened. Waits for the first count only. */
  describeUnreadable(): Promise<string | undefined>;
}

interface Needs {
  secrets: KeyRing;
  pool: Pool;
  logger: Logger;
}

const COUNT_EVERY_MS = 60_000;
/** The counts of a process take at most a hundredth of its time. */
const REST = 100;

/** Counts at once, and from time to time, the stored secrets that no key here opens. */
export function startSecretsCheck({ secrets, pool, logger }: Needs): SecretsCheck & AsyncDisposable {
  const first = Promise.withResolvers<void>();
  let found: string | undefined;
  let notBefore = 0;

  async function count(): Promise<void> {
    const began = performance.now();
    if (began < notBefore) return;
    try {
      const counts = await countUnreadable(pool, secrets);
      const before = found;
      found = describeUnreadable(counts);
      if (found !== undefined && found !== before) logger.warn({ unreadable: Object.fromEntries(counts) }, found);
      if (found === undefined && before !== undefined) logger.info('every stored secret can be opened again');
      first.resolve();
    } finally {
      const ended = performance.now();
      notBefore = ended + (ended - began) * REST;
    }
  }

  const task = startPeriodicTask({ name: 'count unreadable secrets', everyMs: COUNT_EVERY_MS, run: count }, logger);
  return {
    async describeUnreadable() {
      await first.promise;
      return found;
    },
    [Symbol.asyncDispose]: () => task[Symbol.asyncDispose](),
  };
}

/**
 * Gives a key its fingerprint for an id if another key has had its id before. So an id never names two keys, and a process with a
 * wrong key does not take what the right one has sealed for altered.
 */
async function withUniqueIDs(keys: readonly SecretKey[], pool: Pick<Pool, 'query'>): Promise<SecretKey[]> {
  if (keys.length === 0) return [];
  const ids = keys.map(({ id }) => id);
  await pool.query(
    'insert into secret_key (id, fingerprint) select * from unnest($1::text[], $2::text[]) on conflict (id) do nothing',
    [ids, keys.map(({ key }) => fingerprintOf(key))],
  );
  const { rows } = await pool.query<{ id: string; fingerprint: string }>(
    'select id, fingerprint from secret_key where id = any($1)',
    [ids],
  );
  const first = new Map(rows.map(({ id, fingerprint }) => [id, fingerprint]));
  return keys.map(({ id, key }) => {
    const fingerprint = fingerprintOf(key);
    return { id: first.get(id) === fingerprint ? id : fingerprint, key };
  });
}
