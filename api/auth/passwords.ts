import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { createSemaphore, IN_ORDER } from '#shared/concurrency/semaphore.ts';
import { AppError } from '#shared/core/errors.ts';

/**
 * Argon2id with 46 MiB and one pass, the larger of the equal settings that OWASP recommends. Change them here
 * to raise them: a hash contains its settings, and is made anew at the next login.
 */
const current: Cost = { memory: 47_104, passes: 1, parallelism: 1 };
const hashBytes = 32;
/** Each hashing takes a thread of libuv's pool, which also serves files and DNS, and its memory. */
const maxAtOnce = 2;
const maxWaiting = 64;

interface Cost {
  /** KiB */
  memory: number;
  passes: number;
  parallelism: number;
}

export interface Passwords {
  hash(password: string): Promise<string>;
  /** Takes as long without a stored hash, and is then wrong. */
  verify(password: string, stored: string | undefined): Promise<{ isRight: boolean; isOutdated: boolean }>;
}

/** Hashing off the event loop, a few at once; a flood of logins is answered with UNAVAILABLE. */
export function createPasswords(): Passwords {
  const hashing = createSemaphore({
    permits: maxAtOnce,
    maxWaiting,
    tooMany: () => new AppError('UNAVAILABLE', 'Too many sign-ins at this moment', { retryAfter: 5 }),
  });
  return {
    async hash(password) {
      const salt = randomBytes(16);
      return format(current, salt, await hashing.run(IN_ORDER, () => derive(password, salt, current)));
    },
    async verify(password, stored) {
      const known = stored === undefined ? undefined : read(stored);
      const { cost, salt, hash } = known ?? { cost: current, salt: randomBytes(16), hash: randomBytes(hashBytes) };
      const derived = await hashing.run(IN_ORDER, () => derive(password, salt, cost));
      const isRight = timingSafeEqual(derived, hash) && known !== undefined;
      return { isRight, isOutdated: JSON.stringify(cost) !== JSON.stringify(current) };
    },
  };
}

const argon2Async = promisify(argon2);

/** Normalizes the password, since keyboards compose the same characters differently. */
function derive(password: string, nonce: Buffer, cost: Cost): Promise<Buffer> {
  const message = Buffer.from(password.normalize('NFKC'));
  return argon2Async('argon2id', { message, nonce, tagLength: hashBytes, ...cost });
}

/** The PHC string format: `$argon2id$v=19$m=…,t=…,p=…$salt$hash`. */
function format({ memory, passes, parallelism }: Cost, salt: Buffer, hash: Buffer): string {
  const [saltText, hashText] = [salt, hash].map((bytes) => bytes.toString('base64').replaceAll('=', ''));
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${saltText}$${hashText}`;
}

function read(stored: string): { cost: Cost; salt: Buffer; hash: Buffer } {
  const match = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/.exec(stored);
  if (!match) throw new Error('A stored password hash is not in the expected format');
  const [, memory, passes, parallelism, salt = '', hash = ''] = match;
  return {
    cost: { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) },
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  };
}
