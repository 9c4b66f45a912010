import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createKeyRing, fingerprintOf, isSealed, isUnreadableSecret } from '#shared/core/key-ring.ts';
import { readConfig } from '#shared/process/config.ts';

const aKey = (id: string) => ({ id, key: randomBytes(32) });
const [first, second] = [aKey('k1'), aKey('k2')];
const keys = createKeyRing([first]);

test('a sealed text opens in its own context', () => {
  for (const text of ['', 'a', 'postgres://user:pass@host/db', '€ 🎉', 'x'.repeat(100_000), 'x'.repeat(16_000_000)]) {
    const sealed = keys.seal(text, 'tenant:1:tenantDBURL');

    expect(isSealed(sealed)).toBe(true);
    expect(sealed).not.toContain('user:pass');
    expect(keys.open(sealed, 'tenant:1:tenantDBURL')).toBe(text);
  }
});

test('sealing the same text twice gives different results', () => {
  expect(new Set(Array.from({ length: 100 }, () => keys.seal('text', 'place'))).size).toBe(100);
});

test('a sealed text does not open in another context', () => {
  const sealed = keys.seal('text', 'tenant:1:tenantDBURL');

  for (const context of ['tenant:2:tenantDBURL', 'tenant:1:other', ''])
    expect(() => keys.open(sealed, context)).toThrow('altered, or was sealed for another field or with another key');
});

test('a sealed text with one changed character does not open', () => {
  const sealed = keys.seal('text', 'place');
  const start = sealed.lastIndexOf('.') + 1;

  // The last character carries bits that base64 does not use.
  for (let at = start; at < sealed.length - 1; at += 1) {
    const other = sealed[at] === 'A' ? 'B' : 'A';
    expect(() => keys.open(sealed.slice(0, at) + other + sealed.slice(at + 1), 'place')).toThrow('altered');
  }
  for (const cut of [sealed.slice(0, -3), `${sealed}AAAA`, `${sealed.slice(0, -5)}!${sealed.slice(-5)}`, `${sealed}\n`])
    expect(() => keys.open(cut, 'place')).toThrow('altered');
});

test('a key of the same name with other bytes does not open it, nor does one with another name', () => {
  const sealed = keys.seal('text', 'place');

  expect(() => createKeyRing([aKey('k1')]).open(sealed, 'place')).toThrow('another key than the "k1" that is here');
  expect(() => createKeyRing([second]).open(sealed, 'place')).toThrow('sealed with a key that is not here ("k1")');
  for (const keyRing of [createKeyRing([aKey('k1')]), createKeyRing([second]), createKeyRing([])]) {
    expect(keyRing.canOpen(sealed, 'place')).toBe(false);
    expect(keyRing.isCurrent(sealed, 'place')).toBe(false);
  }
  const renamed = sealed.replace('.k1.', '.k2.');
  expect(() => createKeyRing([{ id: 'k2', key: first.key }]).open(renamed, 'place')).toThrow('altered');
});

test('a key that has got another name opens what it has sealed, and what is not sealed under its name is resealed', () => {
  const sealed = keys.seal('text', 'place');
  const renamed = createKeyRing([{ id: 'again', key: first.key }]);
  const reused = createKeyRing([aKey('k1'), { id: 'before', key: first.key }]);

  for (const keyRing of [renamed, reused]) {
    expect(keyRing.open(sealed, 'place')).toBe('text');
    expect(keyRing.canOpen(sealed, 'place')).toBe(true);
    expect(keyRing.isCurrent(sealed, 'place')).toBe(false);
  }
});

test('an error about a secret that no key opens is a conflict, and names the secret and the key', () => {
  const sealed = keys.seal('text', 'place');
  let error: unknown;
  try {
    createKeyRing([second]).open(sealed, 'place', 'The password');
  } catch (thrown) {
    error = thrown;
  }

  expect(error).toMatchObject({
    code: 'CONFLICT',
    message:
      'The password was sealed with a key that is not here ("k1"). Save it again, or put its key back (SECRETS_KEYS)',
    details: { reason: 'unreadableSecret', keyID: 'k1' },
  });
  expect([isUnreadableSecret(error), isUnreadableSecret(new Error('none'))]).toEqual([true, false]);
});

test('the newest key seals, and every key opens', () => {
  const before = keys.seal('text', 'place');
  const both = createKeyRing([second, first]);
  const after = both.seal('text', 'place');

  expect(both.open(before, 'place')).toBe('text');
  expect([both.isCurrent(before, 'place'), both.isCurrent(after, 'place')]).toEqual([false, true]);
  expect(createKeyRing([second]).open(after, 'place')).toBe('text');
});

test('opening a text that was not sealed is an error that says so', () => {
  for (const text of ['', 'text', 'gs1.k1.', 'gs2.k1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 'gs1.k1.%%%']) {
    expect(isSealed(text)).toBe(false);
    expect(() => keys.open(text, 'place')).toThrow('not sealed');
  }
});

test('without keys sealing is an error that names the setting', () => {
  expect(() => createKeyRing([]).seal('text', 'place')).toThrow('SECRETS_KEYS');
});

describe('SECRETS_KEYS', () => {
  const base = { DATABASE_URL: 'postgres://u:p@h/d' };
  const text = ({ id, key }: { id: string; key: Buffer }) => `${id}:${key.toString('base64')}`;

  test('is a list, newest first', () => {
    const { secrets } = readConfig({ ...base, SECRETS_KEYS: ` ${text(second)} , ${text(first)}` });

    expect(secrets.keys).toEqual([second, first]);
  });

  test('is refused with the position of the error, and without its text', () => {
    const short = `k3:${randomBytes(16).toString('base64')}`;
    for (const bad of [short, 'k3', `k 3:${text(first).slice(3)}`, `${text(first)}x`, `:${text(first).slice(3)}`]) {
      const read = () => readConfig({ ...base, SECRETS_KEYS: `${text(second)},${bad}` });
      expect(read).toThrow('SECRETS_KEYS: key 2 must be');
      expect(read).not.toThrow(bad.slice(-20));
    }
    expect(() => readConfig({ ...base, SECRETS_KEYS: `${text(first)},${text({ ...second, id: 'k1' })}` })).toThrow(
      'a keyID of its own',
    );
  });

  test('has ids that are fingerprints only with their own keys', () => {
    const { key } = aKey('k1');
    const read = (id: string, of: Buffer) => readConfig({ ...base, SECRETS_KEYS: text({ id, key: of }) }).secrets.keys;

    expect(read(fingerprintOf(key), key)).toEqual([{ id: fingerprintOf(key), key }]);
    expect(() => read(fingerprintOf(key), randomBytes(32))).toThrow('key 1 is not the key of its keyID key-');
    expect(read('key-1', key)).toEqual([{ id: 'key-1', key }]);
  });

  test('is required in production', () => {
    const production = { ...base, NODE_ENV: 'production', AUTH_ISSUER: 'https://login.example/', AUTH_AUDIENCE: 'a' };

    expect(() => readConfig(production)).toThrow('SECRETS_KEYS is required in production');
    expect(readConfig({ ...production, SECRETS_KEYS: text(first) }).secrets.keys).toHaveLength(1);
  });
});

describe('a signature', () => {
  const text = 'a question';
  const signature = keys.sign(text, 'place');

  test('is the same each time, and good for its text and context only', () => {
    expect(keys.sign(text, 'place')).toBe(signature);
    expect(keys.isSigned(text, signature, 'place')).toBe(true);
    expect(keys.isSigned('another', signature, 'place')).toBe(false);
    expect(keys.isSigned(text, signature, 'elsewhere')).toBe(false);
    expect(keys.isSigned(text, keys.seal(text, 'place'), 'place')).toBe(false);
  });

  test('with one changed character is refused, the last included', () => {
    for (let at = 0; at < signature.length; at += 1)
      for (const other of ['A', 'B', '.', 'é'].filter((character) => character !== signature[at]))
        expect(keys.isSigned(text, signature.slice(0, at) + other + signature.slice(at + 1), 'place')).toBe(false);
    for (const cut of ['', '.', 'k1', 'k1.', signature.slice(0, -1), `${signature}=`, `${signature}A`])
      expect(keys.isSigned(text, cut, 'place')).toBe(false);
  });

  test('of an older key is accepted, and of an unknown key refused', () => {
    const both = createKeyRing([second, first]);
    expect(both.isSigned(text, signature, 'place')).toBe(true);
    expect(both.sign(text, 'place')).toMatch(/^k2\./);
    expect(createKeyRing([aKey('k1')]).isSigned(text, signature, 'place')).toBe(false);
    expect(createKeyRing([second]).isSigned(text, signature, 'place')).toBe(false);
  });
});
