import { describe, expect, test, vi } from 'vitest';
import { eventLoop } from '#shared/concurrency/event-loop-scheduler.ts';
import { newID } from '#shared/core/ids.ts';
import { eventOf, type RecordedEvent } from '#shared/triggers/listeners/event.ts';
import { readOrderKey } from '#shared/triggers/listeners/order-key.ts';
import { readEvent } from '#shared/triggers/listeners/read-event.ts';

const PIECE = 100_000;

function delivery(body: string | Buffer, contentType = 'application/json'): RecordedEvent {
  return {
    ...{ id: newID(), tenantID: newID(), listenerID: newID(), source: 'webhook', receivedAt: new Date() },
    ...{ method: 'POST', path: '/', query: null, params: null, meta: null },
    headers: [['content-type', contentType]],
    body: Buffer.from(body),
  };
}

const long = (unit: string) => `{"id":"a","list":[${`${unit},`.repeat(300_000 / unit.length)}1]}`;

describe('a long delivery of JSON', () => {
  test.each(['{}', '12345678901234567890', '"\\u00e4"', '{"a":[1]}'])(
    'with many %s is read in pieces',
    async (unit) => {
      const recorded = delivery(long(unit));
      using parse = vi.spyOn(JSON, 'parse');
      using pauses = vi.spyOn(eventLoop, 'yield');

      const event = await readEvent(recorded);
      const pieces = parse.mock.calls.map(([text]) => text.length);

      expect(JSON.stringify(event) === JSON.stringify(eventOf(recorded))).toBe(true);
      expect(Math.max(...pieces)).toBeLessThanOrEqual(1.5 * PIECE);
      expect(pauses).toHaveBeenCalled();
    },
  );

  test('is ordered by a value in it', async () => {
    using parse = vi.spyOn(JSON, 'parse');

    expect(await readOrderKey('{{event.body.id}}', delivery(long('{}')))).toBe('a');
    expect(Math.max(...parse.mock.calls.map(([text]) => text.length))).toBeLessThanOrEqual(1.5 * PIECE);
    expect(await readOrderKey('{{event.body.id}}', delivery(`${long('{}')},`))).toBeUndefined();
    expect(await readOrderKey('{{event.body.id}}', delivery('{"id":"b"}'))).toBe('b');
  });

  test.each([
    [`${long('{}')},`, /is not JSON, as its type says/],
    [long('"\\u0000"'), /body\.list\.0: must not contain the character NUL/],
    [long(`${'['.repeat(300)}${']'.repeat(300)}`), /nested deeper/],
  ])('is refused for what is wrong in it', async (text, why) => {
    await expect(readEvent(delivery(text))).rejects.toThrow(why);
  });

  test('stays a text if an object in it has more keys than a request may have', async () => {
    const text = `{"a":{${Array.from({ length: 50_001 }, (_, n) => `"k${n}":${n}`).join(',')}}}`;

    expect((await readEvent(delivery(text))).body === text).toBe(true);
  });
});

test('a long delivery that is no JSON is read as before', async () => {
  expect((await readEvent(delivery('x'.repeat(300_000), 'text/plain'))).body).toHaveLength(300_000);
});
