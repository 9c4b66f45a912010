import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type KeyLookup, type KeyStatus, readKeyPrefix, readKeys } from '#shared/access/account-status.ts';
import { createBatcher } from '#shared/concurrency/batcher.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Pool } from '#shared/db/pool.ts';

const prefixLength = 8;
const format = /^[0-9a-f]{64}$/;

/** A new key, which is shown once, and its stored parts. */
export function createKey(): { key: string; prefix: string; hash: Buffer } {
  const key = randomBytes(32).toString('hex');
  return { key, ...storedPartOf(key) };
}

function storedPartOf(key: string): { prefix: string; hash: Buffer } {
  return { prefix: key.slice(0, prefixLength), hash: hash('sha256', key, 'buffer') };
}

type Verified = KeyStatus & { membership: NonNullable<KeyStatus['membership']> };

/** Answers with the identity of a key; throws INVALID_API_KEY for one that is unknown, disabled, expired, or whose creator may no longer act. */
export interface KeyVerifier {
  verify(key: string, workflowID?: string): Promise<Verified>;
  /** Verifies a key by its id, for work that the key has begun before. */
  verifyID(keyID: string, workflowID?: string): Promise<Verified>;
}

/** `noteUse` is called with the id of each key that was used and whose use is to be written. */
export function createKeyVerifier(pool: Pool, noteUse: (keyID: string) => void): KeyVerifier {
  const find = createBatcher((lookups: KeyLookup[]) => readKeys(pool, lookups));

  function verified(found: KeyStatus | undefined): Verified {
    if (!found) throw invalid();
    const { membership, isBlocked } = found;
    if (found.isExpired) throw invalid('The API key has expired');
    if (isBlocked) throw invalid('The creator of this API key is blocked');
    if (!membership) throw invalid('The creator of this API key is no longer a member of its tenant');
    if (!found.isUseNoted) noteUse(found.keyID);
    return { ...found, membership };
  }

  return {
    async verify(key, workflowID) {
      if (!format.test(key)) throw invalid();
      const { prefix, hash } = storedPartOf(key);
      return verified((await find({ prefix, workflowID })).find((candidate) => timingSafeEqual(candidate.hash, hash)));
    },
    async verifyID(keyID, workflowID) {
      const prefix = await readKeyPrefix(pool, keyID);
      const found = prefix === undefined ? [] : await find({ prefix, workflowID });
      return verified(found.find((candidate) => candidate.keyID === keyID));
    },
  };
}

function invalid(message = 'The API key is not valid'): AppError {
  return new AppError('INVALID_API_KEY', message);
}
