import { expect, test, vi } from 'vitest';
import { jsonOf, readField } from '#api/resources/webhooks/json-field.ts';
import { percentDecoded, readFields } from '#shared/core/form-fields.ts';
import { requireUsable } from '#shared/triggers/listeners/require-usable.ts';

const body = (bytes: number) =>
  Buffer.from(`{"id":"evt_1","type":"url_verification","list":[${'{},'.repeat(bytes / 3)}1]}`);

test('a long body is no handshake, and is not parsed to see whether it is', () => {
  using parse = vi.spyOn(JSON, 'parse');

  expect([jsonOf(body(1_000)), jsonOf(body(30_000))]).toEqual([expect.objectContaining({ id: 'evt_1' }), null]);
  expect(parse).toHaveBeenCalledTimes(1);
});

test('the id in a long signed body is found in pieces of it', async () => {
  using parse = vi.spyOn(JSON, 'parse');

  expect(await readField(body(900_000), 'id')).toBe('evt_1');
  expect(Math.max(...parse.mock.calls.map(([piece]) => piece.length))).toBeLessThan(200_000);
  expect(await readField(Buffer.from('{"id"'), 'id')).toBeUndefined();
});

test('of long JSON that cannot be stored the byte is named, and it is not parsed for the field', () => {
  const check = (text: string) => () =>
    requireUsable({ query: '', params: {}, contentType: 'application/json', body: Buffer.from(text) });
  using parse = vi.spyOn(JSON, 'parse');

  expect(check('{"a":["\\u0000"]}')).toThrow(/^body\.a\.0: .* at byte 7$/);
  expect(parse).toHaveBeenCalledTimes(1);
  expect(check(`[${'{},'.repeat(200_000)}"\\u0000"]`)).toThrow(/^body: .* at byte 600002$/);
  expect(parse).toHaveBeenCalledTimes(1);
});

test.each([
  ['a%41%c3%A4%2', 'aAä%2'],
  ['%%41%4g%', '%A%4g%'],
])('the bytes of %s are decoded', (form, bytes) => {
  expect(percentDecoded(Buffer.from(form)).toString()).toBe(bytes);
});

test.each(['a=1&b=hello+world&c=%C3%A4&=x&y&&z=&%=%4', 'a=b=c&a+%2B=%26%3D&&=&==', '%41&+=+&%zz=%e2%82%ac', '', '&'])(
  'the fields of %j are those that URLSearchParams reads',
  (form) => {
    expect(readFields(Buffer.from(form))).toEqual([...new URLSearchParams(`?${form}`)]);
  },
);

test('of a form with many short fields before a long one, no byte is looked for twice', () => {
  using search = vi.spyOn(Buffer.prototype, 'indexOf');
  const form = Buffer.from(`${'a&'.repeat(9_000)}${'b'.repeat(1_000_000)}`);

  expect(readFields(form)).toHaveLength(9_001);

  // Once for each `&` when they are counted and when they are read, and once for each other byte, which it has not.
  expect(search.mock.calls.length).toBeLessThan(2 * 9_001 + 10);
});
