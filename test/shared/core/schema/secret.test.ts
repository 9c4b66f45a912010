import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '#shared/core/json.ts';
import { createKeyRing } from '#shared/core/key-ring.ts';
import {
  destination,
  keepMasked,
  MASK,
  maskSecrets,
  openSecrets,
  refuseMoved,
  resealSecrets,
  sealSecrets,
  secret,
} from '#shared/core/schema/secret.ts';

const old = { id: 'k1', key: randomBytes(32) };
const path = { secrets: createKeyRing([old]), context: 'datasource:1:options' };

const Header = z.object({ key: z.string(), value: secret(z.string()) });
const Auth = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('none'), token: z.string().optional() }),
  z.object({ kind: z.literal('bearer'), token: secret(z.string()) }),
]);
const Options = z.looseObject({
  host: z.string(),
  password: secret(z.string()).min(1).max(100).optional(),
  certificate: secret(z.object({ pem: z.string() })).nullish(),
  fallback: secret(z.string().optional()).default(''),
  auth: Auth.optional(),
  headers: z.array(Header).default([]),
  tokens: z.array(secret(z.string())).optional(),
  perHost: z.record(z.string(), z.object({ key: secret(z.string()) })).optional(),
  either: z.union([z.string(), z.object({ code: secret(z.string().transform(Number)) })]).optional(),
});

const options: JsonObject = {
  host: 'db',
  password: 'p4ssword',
  certificate: { pem: 'c3rtificate' },
  fallback: 'f4llback',
  auth: { kind: 'bearer', token: 't0ken' },
  headers: [
    { key: 'a', value: 'v4lue-a' },
    { key: 'b', value: 'v4lue-b' },
  ],
  tokens: ['l1st-1', 'l1st-2'],
  perHost: { 'h.1': { key: 'r3cord' }, 'h/2': { key: 'r3cord-2' } },
  either: { code: '00000' },
  extra: { password: 'not declared' },
};
const masked = maskSecrets(Options, options);

test('declared secrets are masked inside any wrapper, and nothing else is', () => {
  expect(MASK).toHaveLength(8);
  expect(masked).toEqual({
    host: 'db',
    password: MASK,
    certificate: MASK,
    fallback: MASK,
    auth: { kind: 'bearer', token: MASK },
    headers: [
      { key: 'a', value: MASK },
      { key: 'b', value: MASK },
    ],
    tokens: [MASK, MASK],
    perHost: { 'h.1': { key: MASK }, 'h/2': { key: MASK } },
    either: { code: MASK },
    extra: { password: 'not declared' },
  });
  expect(maskSecrets(Options, { host: 'db', password: '', auth: { kind: 'none', token: 'open' } })).toEqual({
    host: 'db',
    password: '',
    auth: { kind: 'none', token: 'open' },
  });
});

test('a JSON schema marks its secret fields', () => {
  const { properties } = z.toJSONSchema(Options, { io: 'input', unrepresentable: 'any' });

  expect(properties?.password).toMatchObject({ 'x-secret': true });
  expect(properties?.host).not.toHaveProperty('x-secret');
});

test('a sealed value holds no secret and opens to the original, in its own row only', () => {
  const sealed = sealSecrets(Options, options, path);

  expect(JSON.stringify(sealed)).not.toMatch(/p4ssword|c3rtificate|f4llback|t0ken|v4lue-|l1st-\d|r3cord|00000/);
  expect(openSecrets(Options, sealed, path)).toEqual(options);
  expect(() => openSecrets(Options, sealed, { ...path, context: 'datasource:2:options' })).toThrow(
    'sealed for another field',
  );
  const swapped = { ...sealed, fallback: sealed.password ?? null };
  expect(() => openSecrets(Options, swapped, path)).toThrow('sealed for another field');
});

test('a text that looks sealed is sealed like any other', () => {
  const sealed = sealSecrets(Options, { host: 'db', password: path.secrets.seal('x', 'elsewhere') }, path);

  expect(openSecrets(Options, sealed, path).password).toMatch(/^gs1\./);
});

test('a value stored before its field was declared a secret is read as it is', () => {
  expect(openSecrets(Options, { host: 'db', password: 'in clear' }, path).password).toBe('in clear');
});

test('an update that sends the mask back keeps the stored secret', () => {
  expect(keepMasked(Options, masked, options)).toEqual(options);
  expect(keepMasked(Options, { ...masked, host: 'other', password: 'n3w' }, options)).toEqual({
    ...options,
    host: 'other',
    password: 'n3w',
  });
  const { password, ...rest } = masked;
  expect(keepMasked(Options, rest, options)).not.toHaveProperty('password');
});

test('a kept secret is refused when a part of the address changes, is added or is left out', () => {
  const Server = z.object({
    host: destination(z.string()),
    proxy: destination(z.string()).optional(),
    title: z.string().optional(),
    password: secret(z.string()),
  });
  const update =
    (stored: object, given: object, password = MASK) =>
    () =>
      refuseMoved(Server, {
        given: { ...given, password },
        next: { ...given, password: 'old' },
        stored: { ...stored, password: 'old' },
      });

  expect(update({ host: 'a' }, { host: 'a', title: 'T' })).not.toThrow();
  expect(update({ host: 'a' }, { host: 'b' })).toThrow('because host changes');
  expect(update({ host: 'a' }, { host: 'a', proxy: 'evil' })).toThrow('because proxy changes');
  expect(update({ host: 'a', proxy: 'good' }, { host: 'a' })).toThrow('because proxy changes');
  expect(update({ host: 'a' }, { host: 'a', proxy: 'evil' }, 'sent again')).not.toThrow();
});

test('elements of a list keep their secrets when the list is reordered, cut or edited', () => {
  const [a, b] = [
    { key: 'a', value: MASK },
    { key: 'b', value: MASK },
  ];
  const keep = (headers: JsonObject[]) => keepMasked(Options, { host: 'db', headers }, options).headers;

  expect(keep([b, a])).toEqual([
    { key: 'b', value: 'v4lue-b' },
    { key: 'a', value: 'v4lue-a' },
  ]);
  expect(keep([b])).toEqual([{ key: 'b', value: 'v4lue-b' }]);
  expect(keep([a, { key: 'c', value: 'n3w' }, b])).toEqual([
    { key: 'a', value: 'v4lue-a' },
    { key: 'c', value: 'n3w' },
    { key: 'b', value: 'v4lue-b' },
  ]);
  expect(keep([{ ...a, note: 'added' }])).toEqual([{ key: 'a', value: 'v4lue-a', note: 'added' }]);
});

test('long lists keep their secrets in the time of their length', () => {
  const headers = Array.from({ length: 50_000 }, (_, n) => ({ key: `k${n % 40_000}`, value: `v${n % 40_000}` }));
  const masked = headers.map(({ key }) => ({ key, value: MASK })).reverse();

  const restored = keepMasked(Options, { host: 'db', headers: masked }, { ...options, headers });

  expect(restored.headers).toEqual(headers.toReversed());
});

test('a mask without a certain stored value is refused with its path', () => {
  const keep = (more: JsonObject) => () => keepMasked(Options, { host: 'db', ...more }, options);

  expect(keep({ headers: [{ key: 'new', value: MASK }] })).toThrow('headers.0.value: is the mask');
  expect(keep({ tokens: [MASK] })).toThrow('tokens.0: is the mask');
  expect(() => keepMasked(Options, { host: 'db', password: MASK }, { host: 'db' })).toThrow('password: is the mask');
});

test('sealing again with a newer key changes every secret that has an older one', () => {
  const sealed = sealSecrets(Options, options, path);
  const newer = { id: 'k2', key: randomBytes(32) };
  const both = { ...path, secrets: createKeyRing([newer, old]) };

  const once = resealSecrets(sealed, both) as JsonObject;

  expect(JSON.stringify(once)).not.toContain('gs1.k1.');
  expect(openSecrets(Options, once, { ...path, secrets: createKeyRing([newer]) })).toEqual(options);
  expect(resealSecrets(once, both)).toEqual(once);
});
