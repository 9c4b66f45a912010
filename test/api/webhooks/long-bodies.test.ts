import { expect, test, vi } from 'vitest';
import { jsonOf, readField } from '#api/resources/webhooks/json-field.ts';

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
