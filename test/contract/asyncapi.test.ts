import { Parser } from '@asyncapi/parser';
import { expect, test } from 'vitest';
import { describeEvents } from '#api/realtime/describe-events.ts';
import { events } from '#shared/messaging/realtime/events.ts';

const document = describeEvents();

test("AsyncAPI's parser finds nothing to complain about", async () => {
  const { document: parsed, diagnostics } = await new Parser().parse(JSON.stringify(document));

  expect(diagnostics.map(({ message, path }) => `${path.join('.')}: ${message}`)).toEqual([]);
  expect(parsed?.operations().filterByReceive()).toHaveLength(Object.keys(events.client).length);
  expect(parsed?.operations().filterBySend()).toHaveLength(Object.keys(events.server).length);
});

test('every event has a message whose payload is a schema of its own', () => {
  const { messages, schemas } = document.components;

  for (const name of [...Object.keys(events.client), ...Object.keys(events.server)]) {
    expect(messages[name]).toMatchObject({ payload: { $ref: `#/components/schemas/${name}` } });
    expect(Object.keys(schemas[name] ?? {}).length, name).toBeGreaterThan(0);
  }
});

test('the events are described once, for any host', () => {
  const other = describeEvents('example.com');

  expect(other.servers).toMatchObject({ api: { host: 'example.com' } });
  expect(other.components).toBe(document.components);
});
