import { hash } from 'node:crypto';
import { z } from 'zod';
import { AppError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { resolveTemplates } from '../../workflow/resolve-config.ts';
import { eventOf, type RecordedEvent } from './event.ts';

/** Field of the configs of listeners whose events can be processed in their order. */
export const orderBy = z.string().max(1_000).default('').meta({
  title: 'Order by',
  description:
    'A template such as {{event.body.order.id}}: events with the same value are processed one after the other, in the order in which they came. Empty: without an order',
});

const MAX_LENGTH = 128;

/** The value by which an event is ordered. Undefined if it has none, or if its body is not what its type says. */
export function orderKeyOf(template: string, recorded: RecordedEvent): string | undefined {
  if (template === '') return undefined;
  const value = filled(template, recorded);
  if (value === null || value === '') return undefined;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= MAX_LENGTH && /^[\x20-\x7e]+$/.test(text) ? text : hash('sha256', text);
}

function filled(template: string, recorded: RecordedEvent): Json {
  try {
    return resolveTemplates(template, eventOf(recorded), { root: 'event' });
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}
