import type { JsonObject } from '../../core/json.ts';
import { bodyOf } from './event-body.ts';
import { readQuery } from './event-query.ts';

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
  const { id, tenantID, listenerID, receivedAt, method, path, params, meta } = recorded;
  const headers = Object.fromEntries(joined(recorded.headers ?? []));
  return {
    ...meta,
    eventID: id,
    listenerID,
    method,
    url: path === null ? null : `${path}${recorded.query ? `?${recorded.query}` : ''}`,
    params: params ?? {},
    query: readQuery(recorded.query ?? ''),
    headers,
    body: bodyOf(recorded.body ?? Buffer.alloc(0), headers['content-type'] ?? '', { id, tenantID }),
    timestamp: receivedAt.toISOString(),
  };
}

/** Several values of one header are joined, as HTTP says. */
function joined(pairs: readonly (readonly [string, string])[]): Map<string, string> {
  const values = new Map<string, string>();
  for (const [name, value] of pairs) {
    const before = values.get(name);
    values.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return values;
}
