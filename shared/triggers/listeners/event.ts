import { isUtf8 } from 'node:buffer';
import { AppError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { MAX_LEVELS, readJSON, TooDeep } from '../../core/lossless-json.ts';

/** An event as it was recorded. */
export interface RecordedEvent {
  id: string;
  tenantID: string;
  listenerID: string;
  source: string;
  receivedAt: Date;
  method: string | null;
  path: string | null;
  query: string | null;
  params: JsonObject | null;
  headers: [string, string][] | null;
  body: Buffer | null;
  meta: JsonObject | null;
}

/** The event as templates and code of actions read it. Throws VALIDATION_ERROR if the body is not what its type says. */
export function eventOf(recorded: RecordedEvent): JsonObject {
  const { id, listenerID, receivedAt, method, path, params, meta } = recorded;
  const headers = Object.fromEntries(joined(recorded.headers ?? []));
  return {
    ...meta,
    eventID: id,
    listenerID,
    method,
    url: path === null ? null : `${path}${recorded.query ? `?${recorded.query}` : ''}`,
    params: params ?? {},
    query: Object.fromEntries(joined([...new URLSearchParams(recorded.query ?? '')])),
    headers,
    body: bodyOf(recorded.body ?? Buffer.alloc(0), headers['content-type'] ?? ''),
    timestamp: receivedAt.toISOString(),
  };
}

/** Several values of one name are joined, as HTTP says. */
function joined(pairs: readonly (readonly [string, string])[]): Map<string, string> {
  const values = new Map<string, string>();
  for (const [name, value] of pairs) {
    const before = values.get(name);
    values.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return values;
}

function bodyOf(body: Buffer, type: string): Json {
  if (body.length === 0) return null;
  if (!isUtf8(body)) return { base64: body.toString('base64') };
  const text = body.toString('utf8');
  const [mime = ''] = type.toLowerCase().split(';');
  if (/^application\/([\w.-]+\+)?json$/.test(mime.trim())) return parsed(text);
  if (mime.trim() === 'application/x-www-form-urlencoded')
    return Object.fromEntries(joined([...new URLSearchParams(text)]));
  return text;
}

function parsed(text: string): Json {
  try {
    return readJSON(text, { maxLevels: MAX_LEVELS, losesPrecision: changesInteger });
  } catch (error) {
    const why =
      error instanceof TooDeep ? `is nested deeper than ${MAX_LEVELS} levels` : 'is not JSON, as its type says';
    throw new AppError('VALIDATION_ERROR', `The body ${why}`, { cause: error });
  }
}

/** Whether a double would change the number. Such a number becomes a text, so that a long id survives. */
function changesInteger(value: number, written: string): boolean {
  return !Number.isFinite(value) || (/^-?\d+$/.test(written) && String(value) !== written);
}
