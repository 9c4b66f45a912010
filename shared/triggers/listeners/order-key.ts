import { hash } from 'node:crypto';
import { z } from 'zod';
import { AppError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { resolveTemplates } from '../../workflow/resolve-config.ts';
import { eventOf, type RecordedEvent } from './event.ts';
import { readEvent } from './read-event.ts';

/** Field of the configs of listeners whose events can be processed in their order. */
export const orderBy = z.string().max(1_000).default('').meta({
  title: 'Order by',
  description:
    'A template such as {{event.body.order.id}}: events with the same value are processed one after the other, in the order in which they came. Empty: without an order',
});

const MAX_LENGTH = 128;

/** The value by which an event is ordered. Undefined if it has none, or if its body is not what its type says. */
export function orderKeyOf(template: string, recorded: RecordedEvent): string | undefined {
  return template === '' ? undefined : keyOf(unlessRefused(() => filled(template, eventOf(recorded))));
}

/** `orderKeyOf` for a body of any length, with pauses. Those who record the events of a connection must not let one overtake another. */
export async function readOrderKey(template: string, recorded: RecordedEvent): Promise<string | undefined> {
  if (template === '') return undefined;
  const event = await readEvent(recorded).catch((error: unknown) => unlessRefused(() => rethrow(error)));
  return event === null ? undefined : keyOf(unlessRefused(() => filled(template, event)));
}

function filled(template: string, event: JsonObject): Json {
  return resolveTemplates(template, event, { root: 'event' });
}

function keyOf(value: Json): string | undefined {
  if (value === null || value === '') return undefined;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= MAX_LENGTH && /^[\x20-\x7e]+$/.test(text) ? text : hash('sha256', text);
}

function unlessRefused<Value>(work: () => Value): Value | null {
  try {
    return work();
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}

function rethrow(error: unknown): never {
  throw error;
}
