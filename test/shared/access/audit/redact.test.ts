import { expect, test } from 'vitest';
import { z } from 'zod';
import { isSecretName, readable, readableHeaders, readableText, readableURL } from '#shared/access/audit/redact.ts';
import { datasources } from '#shared/datasources/types/index.ts';

test('values whose names say that they are secret are hidden, at any depth', () => {
  expect(
    readable({
      user: 'ann',
      password: 'p',
      nested: [{ api_key: 'k', apiKeyID: 'id', accessToken: 't', url: 'https://u:p@host/a' }],
      empty: { token: '', secret: null },
    }),
  ).toEqual({
    user: 'ann',
    password: '[REDACTED]',
    nested: [{ api_key: '[REDACTED]', apiKeyID: 'id', accessToken: '[REDACTED]', url: 'https://[REDACTED]@host/a' }],
    empty: { token: '', secret: null },
  });
});

test('a body of more than 2000 characters is cut, in time that does not grow with it', () => {
  expect(readable({ text: 'a'.repeat(1_980) })).toEqual({ text: 'a'.repeat(1_980) });
  const { _truncated: cut } = readable({ text: 'a'.repeat(3_000) }) as { _truncated: string };
  expect(cut).toHaveLength(2_000);
  expect(cut).toMatch(/^{"text":"a+$/);

  let reads = 0;
  const get = (rows: object[], key: string) => {
    reads += 1;
    return Reflect.get(rows, key);
  };
  const rows = new Proxy(
    Array.from({ length: 1_000_000 }, () => ({ a: 1 })),
    { get },
  );
  expect(readable({ rows })).toEqual({ _truncated: expect.any(String) });
  expect(reads).toBeLessThan(5_000);
});

test('of a long text only the beginning is read', () => {
  const rows = JSON.stringify({
    password: 'p',
    rows: Array.from({ length: 1_000 }, (_, n) => ({ n, text: 'a "b" {' })),
  });
  const { _truncated: cut } = readableText(rows, {}) as { _truncated: string };
  expect(cut).toMatch(/^{"password":"\[REDACTED\]","rows":\[{"n":0,"text":"a \\"b\\" {"},/);
  expect(cut.length).toBe(2_000);
  expect(readableText(`{"a":"${'x'.repeat(5_000)}"}`, {})).toEqual({ _truncated: `{"a":"${'x'.repeat(1_994)}` });
  expect(readableText('['.repeat(5_000), {})).toEqual({ _truncated: expect.any(String) });
  expect(readableText('{"a":1}', {})).toEqual({ a: 1 });
});

test('of a text that the cut divides, the beginning is kept', () => {
  const cutAt = (text: string) => readableText(text, {}, true);
  expect(cutAt('{"a":[1,"b')).toEqual({ _truncated: '{"a":[1,"b"]}' });
  expect(cutAt('{"a":1,"b')).toEqual({ _truncated: '{"a":1}' });
  expect(cutAt('{"password":"b')).toEqual({ _truncated: '{"password":"[REDACTED]"}' });
  for (const half of ['\\', '\\u', '\\u00e'])
    expect(cutAt(`{"a": "b${half}`), half).toEqual({ _truncated: '{"a":"b"}' });
  expect(cutAt('{"a": "b\\\\u00e')).toEqual({ _truncated: '{"a":"b\\\\u00e"}' });
});

test('what Postgres does not store is replaced', () => {
  expect(readable({ 'a\0': 'b\0', half: '\ud800' })).toEqual({ 'a\uFFFD': 'b\uFFFD', half: '\uFFFD' });
  // A pair that the cut would divide.
  expect(JSON.stringify(readable({ a: `${'x'.repeat(1_992)}😀😀` })).isWellFormed()).toBe(true);
});

test('headers and addresses are kept without credentials', () => {
  const headers = {
    authorization: 'Bearer t',
    cookie: 'a',
    'x-api-key': 'k',
    'user-agent': 'curl',
    'x-auth-token': 't',
  };
  expect(readableHeaders(headers)).toEqual({ 'user-agent': 'curl' });
  expect(readableURL('/a/b?limit=1&token=t&code=c&empty')).toBe('/a/b?limit=1&token=[REDACTED]&code=[REDACTED]&empty');
});

test('the credentials of an address are hidden, also where the cut comes before the @', () => {
  const address = 'https://ann:open-sesame@db.example.com/a';
  const before = 'x'.repeat(1_975);
  expect(JSON.stringify(readable({ url: before + address }))).not.toContain('open');
  const long = `{"text":"${'\\u00e9'.repeat(655)}","url":"https://ann:open-sesame@db"}`;
  for (const written of [long, long.replace('//', '\\/\\/')])
    expect(JSON.stringify(readableText(written.slice(0, written.indexOf('sesame')), {}, true))).not.toContain('open');
  expect(JSON.stringify(readableHeaders({ referer: 'x'.repeat(280) + address }))).not.toContain('open');
  expect(readableURL(`/a?u=${encodeURIComponent(address)}&v=${address}&w=a@b`)).toBe(
    '/a?u=[REDACTED]&v=[REDACTED]&w=a@b',
  );
  // One that is whole has none.
  expect(readable({ url: 'https://db.example.com' })).toEqual({ url: 'https://db.example.com' });
});

test('the key __proto__ of data is shown as any other', () => {
  const text = '{"deep":[{"__proto__":{"a":1}}],"__proto__":2}';

  expect(JSON.stringify(readable(JSON.parse(text)))).toBe(text);
});

test('every field that a datasource type declares to be a secret is hidden by its name, or its name is known', () => {
  const names = new Set<string>();
  for (const { options } of datasources)
    collect(z.toJSONSchema(options, { unrepresentable: 'any', io: 'input' }), names);
  expect(names.size).toBeGreaterThan(10);
  // Names of headers, parameters and cookies, which the routes of datasources hide.
  expect([...names].filter((name) => !isSecretName(name))).toEqual(['value']);
});

function collect(schema: unknown, names: Set<string>): void {
  if (typeof schema !== 'object' || schema === null) return;
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'properties')
      for (const [name, property] of Object.entries(value as object))
        if (typeof property === 'object' && property?.['x-secret'] === true) names.add(name);
    collect(value, names);
  }
}
