import { runCooperatively } from '../../concurrency/cooperative.ts';
import { LONG } from '../../concurrency/parse-json.ts';
import { parseStorable } from '../../concurrency/parse-storable.ts';
import { decodeText } from '../../core/charset.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { quotingLossy } from '../../core/lossless-json.ts';
import { readMediaType } from '../../core/media-type.ts';
import { invalid } from '../../core/schema/issues.ts';
import { MAX_LEVELS, TOO_MANY_KEYS } from '../../core/unstorable.ts';
import { eventOf, type RecordedEvent } from './event.ts';
import { asText, isJSONBody, notJSON } from './event-body.ts';
import { requireStorable } from './require-usable.ts';

/**
 * `eventOf` for a body of any length, with pauses if it is long JSON. Throws VALIDATION_ERROR also for what Postgres cannot store. A body
 * with an object of more keys than a request may have stays a text: its sender was told that it is accepted.
 */
export async function readEvent(recorded: RecordedEvent): Promise<JsonObject> {
  const text = longJSONOf(recorded);
  const event = eventOf(text === undefined ? recorded : { ...recorded, body: null });
  requireStorable(event);
  return text === undefined ? event : { ...event, body: await parsed(text) };
}

function longJSONOf({ headers, body }: RecordedEvent): string | undefined {
  if (!body || body.length <= LONG) return undefined;
  const types = (headers ?? []).filter(([name]) => name === 'content-type').map(([, value]) => value);
  const { type, parameters } = readMediaType(types.join(', '));
  return isJSONBody(type) ? asText(() => decodeText(body, { charset: parameters.get('charset') })) : undefined;
}

async function parsed(text: string): Promise<Json> {
  const { value, unstorable } = await parse(await runCooperatively(quotingLossy(text)));
  // A control character is no JSON, and Postgres could not keep it in a text.
  if (unstorable?.message === TOO_MANY_KEYS && !text.includes('\0')) return text;
  if (unstorable) throw invalid([{ ...unstorable, path: ['body', ...unstorable.path] }]);
  // Safe: JSON has nothing else.
  return value as Json;
}

async function parse(text: string) {
  try {
    // The event around the body is a level of its own.
    return await parseStorable(text, { maxLevels: MAX_LEVELS + 1 });
  } catch (error) {
    throw notJSON(error);
  }
}
