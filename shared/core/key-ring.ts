import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { AppError } from './errors.ts';

/** One key of `SECRETS_KEYS`: 32 bytes and the name that sealed values carry. */
export interface SecretKey {
  id: string;
  key: Buffer;
}

const FINGERPRINT = /^key-[0-9a-f]{16}$/;

/** The id that says which key it is: another key has another one. */
export function fingerprintOf(key: Buffer): string {
  return `key-${Buffer.from(hkdfSync('sha256', key, '', 'fingerprint', 8)).toString('hex')}`;
}

/** Whether the id is the fingerprint of another key. An id that a person has chosen is the fingerprint of no key. */
export function isOfAnotherKey({ id, key }: SecretKey): boolean {
  return FINGERPRINT.test(id) && id !== fingerprintOf(key);
}

/**
 * Seals texts with AES-256-GCM, always with the newest key. The context names the text's row and field
 * (`tenant:<id>:tenantDBURL`) and is authenticated with it: a sealed text that is moved to another row cannot be opened there.
 */
export interface KeyRing {
  /** The id that sealed texts get now; undefined without keys. */
  readonly newestID: string | undefined;
  seal(text: string, context: string): string;
  /** Throws an error that `isUnreadableSecret` recognizes if no key here opens it. `what` names the secret in that error. */
  open(sealed: string, context: string, what?: string): string;
  /** As `open`; undefined if no key here opens it, or if it is not sealed. */
  tryOpen(sealed: string, context: string): string | undefined;
  /** Whether one of the keys opens it. */
  canOpen(sealed: string, context: string): boolean;
  /** Whether the newest key opens it. */
  isCurrent(sealed: string, context: string): boolean;
  /** Signs a text with the newest key: the same text and context give the same signature. */
  sign(text: string, context: string): string;
  /** Whether one of the keys gave this signature. The comparison takes as long for a wrong signature as for a right one. */
  isSigned(text: string, signature: string, context: string): boolean;
}

const VERSION = 'gs1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const sealedStart = /^gs1\.([\w-]{1,32})\./;
const MIN_BODY_LENGTH = 38;

export function createKeyRing(keys: readonly SecretKey[]): KeyRing {
  const [newest] = keys;
  const known = new Map(keys.map(({ id, key }) => [id, key]));

  /**
   * The text, or undefined. The key of the name is tried first, and then every other: a person may have given a key another name, and an
   * earlier version sealed with whichever key had the name.
   */
  function openWithAny({ id, body }: Sealed, context: string): string | undefined {
    const named = known.get(id);
    const others = keys.filter(({ key }) => key !== named).map(({ key }) => key);
    for (const key of named ? [named, ...others] : others) {
      const text = decrypt(key, { id, body, context });
      if (text !== undefined) return text;
    }
    return undefined;
  }

  function tryOpen(sealed: string, context: string): string | undefined {
    const read = readSealed(sealed);
    return read && openWithAny(read, context);
  }

  return {
    newestID: newest?.id,
    seal(text, context) {
      if (!newest) throw noKeys();
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', newest.key, nonce);
      cipher.setAAD(authenticated(newest.id, context));
      const bytes = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${VERSION}.${newest.id}.${bytes.toString('base64url')}`;
    },
    open(sealed, context, what = 'A stored secret') {
      const read = readSealed(sealed);
      if (!read) throw new AppError('INTERNAL_ERROR', 'The value is not sealed');
      if (!newest) throw noKeys();
      const text = openWithAny(read, context);
      if (text === undefined) throw unreadable(what, { keyID: read.id, isHere: known.has(read.id) });
      return text;
    },
    tryOpen,
    canOpen: (sealed, context) => tryOpen(sealed, context) !== undefined,
    isCurrent(sealed, context) {
      const read = readSealed(sealed);
      if (!newest || read?.id !== newest.id) return false;
      return decrypt(newest.key, { ...read, context }) !== undefined;
    },
    sign(text, context) {
      if (!newest) throw noKeys();
      return signatureOf(newest, text, context);
    },
    isSigned(text, signature, context) {
      const [id = ''] = signature.split('.');
      const key = known.get(id);
      if (!key) return false;
      const right = Buffer.from(signatureOf({ id, key }, text, context));
      const given = Buffer.from(signature);
      // Compares the texts, not the decoded bytes: different last characters in base64url may decode to the same bytes.
      return given.length === right.length && timingSafeEqual(given, right);
    },
  };
}

/** Whether a text has the form of a sealed text. This proves nothing about its origin: a client can write the same form. */
export function isSealed(value: unknown): value is string {
  const read = typeof value === 'string' ? readSealed(value) : undefined;
  return read !== undefined && !/[^\w-]/.test(read.body);
}

/** The name of the key that sealed this text; undefined if it is not sealed. */
export function keyIDOf(sealed: string): string | undefined {
  return readSealed(sealed)?.id;
}

/** Whether a secret could not be opened with the keys that are here. */
export function isUnreadableSecret(error: unknown): boolean {
  return error instanceof AppError && (error.details as { reason?: unknown } | undefined)?.reason === UNREADABLE;
}

const UNREADABLE = 'unreadableSecret';

interface Sealed {
  id: string;
  body: string;
}

/** Undefined if the key does not open it. */
function decrypt(key: Buffer, { id, body, context }: Sealed & { context: string }): string | undefined {
  const bytes = Buffer.from(body, 'base64url');
  // Characters that are not of the alphabet are left out. To look for them in six megabytes takes 12 ms.
  if (bytes.length !== Math.floor((body.length * 3) / 4)) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(authenticated(id, context));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return undefined;
  }
}

/** Not an INTERNAL_ERROR: a person mends it, by the key or by giving the secret again. */
function unreadable(what: string, { keyID, isHere }: { keyID: string; isHere: boolean }): AppError {
  const fault = isHere
    ? `${what} cannot be opened: it was altered, or was sealed for another field or with another key than the "${keyID}" that is here`
    : `${what} was sealed with a key that is not here ("${keyID}")`;
  return new AppError('CONFLICT', `${fault}. Save it again, or put its key back (SECRETS_KEYS)`, {
    details: { reason: UNREADABLE, keyID },
  });
}

/** Splits a sealed text. Does not look at each character of the body: sealed answers may have many megabytes. */
function readSealed(text: string): Sealed | undefined {
  const [start = '', id = ''] = sealedStart.exec(text) ?? [];
  const body = text.slice(start.length);
  return id && body.length >= MIN_BODY_LENGTH ? { id, body } : undefined;
}

function signatureOf({ id, key }: SecretKey, text: string, context: string): string {
  // Derives a separate key, so that nothing that signatures reveal about their key helps to break the encryption.
  const own = Buffer.from(hkdfSync('sha256', key, '', `signature:${context}`, 32));
  return `${id}.${createHmac('sha256', own).update(text).digest('base64url')}`;
}

function authenticated(keyID: string, context: string): Buffer {
  return Buffer.from(JSON.stringify([VERSION, keyID, context]));
}

function noKeys(): AppError {
  return new AppError('UNAVAILABLE', 'Secrets cannot be stored or read: SECRETS_KEYS is not set');
}
