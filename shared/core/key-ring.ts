import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { AppError } from './errors.ts';

/** One key of `SECRETS_KEYS`: 32 bytes and the name that sealed values carry. */
export interface SecretKey {
  id: string;
  key: Buffer;
}

/**
 * Seals texts with AES-256-GCM, always with the newest key. The context names the text's row and field
 * (`tenant:<id>:tenantDBURL`) and is authenticated with it: a sealed text that is moved to another row cannot be opened there.
 */
export interface KeyRing {
  seal(text: string, context: string): string;
  open(sealed: string, context: string): string;
  /** Whether this was sealed with the newest key. */
  isCurrent(sealed: string): boolean;
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

  return {
    seal(text, context) {
      if (!newest) throw noKeys();
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', newest.key, nonce);
      cipher.setAAD(authenticated(newest.id, context));
      const bytes = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${VERSION}.${newest.id}.${bytes.toString('base64url')}`;
    },
    open(sealed, context) {
      const { id, body } = readSealed(sealed) ?? {};
      if (id === undefined || body === undefined) throw new AppError('INTERNAL_ERROR', 'The value is not sealed');
      const key = known.get(id);
      if (!key && !newest) throw noKeys();
      if (!key)
        throw new AppError(
          'INTERNAL_ERROR',
          `A stored secret was sealed with the key "${id}", which is not in SECRETS_KEYS`,
        );
      const bytes = Buffer.from(body, 'base64url');
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(authenticated(id, context));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      try {
        return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
      } catch (cause) {
        throw new AppError('INTERNAL_ERROR', 'A stored secret was altered, or was sealed for another field', {
          cause,
        });
      }
    },
    isCurrent: (sealed) => newest !== undefined && readSealed(sealed)?.id === newest.id,
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
  return typeof value === 'string' && readSealed(value) !== undefined;
}

/** Splits a sealed text. Not by one regular expression: sealed answers may have many megabytes, and it would overflow the stack. */
function readSealed(text: string): { id: string; body: string } | undefined {
  const [start = '', id = ''] = sealedStart.exec(text) ?? [];
  const body = text.slice(start.length);
  return id && body.length >= MIN_BODY_LENGTH && !/[^\w-]/.test(body) ? { id, body } : undefined;
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
