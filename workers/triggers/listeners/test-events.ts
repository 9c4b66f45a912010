import type { JsonObject } from '#shared/core/json.ts';
import type { ListenerTest } from '#shared/messaging/realtime/listener-tests.ts';
import { eventOf, type RecordedEvent } from '#shared/triggers/listeners/event.ts';
import type { Transformed } from './actions/run-actions.ts';

/** An event with more characters is sent to sockets without its data. */
const MAX_LENGTH = 65_536;
const MAX_MESSAGE = 2_000;

interface Tested extends RecordedEvent {
  isTested: boolean;
  attempts: number;
  attemptsBefore: number;
}

/** Messages of an event for the test room of its listener: one, with the first attempt. */
export function testsOf(
  { isTested, attempts, attemptsBefore, tenantID, listenerID }: Tested,
  event: JsonObject,
  transformed: Transformed = { event, error: null },
): ListenerTest[] {
  if (!isTested || attempts > attemptsBefore) return [];
  const isLarge = JSON.stringify([event, transformed.event]).length > MAX_LENGTH;
  return [
    {
      ...{ tenantID, listenerID },
      rawEvent: isLarge ? null : event,
      transformedEvent: isLarge ? null : transformed.event,
      transformError: transformed.error?.slice(0, MAX_MESSAGE) ?? null,
      ...(isLarge && { dataOmitted: true as const }),
      timestamp: Date.now(),
    },
  ];
}

/** The event with its body as a text or bytes, and without its query, for one that is not what it says. */
export function readable(recorded: RecordedEvent): JsonObject {
  const headers = (recorded.headers ?? []).filter(([name]) => name !== 'content-type');
  const shown = { ...recorded, headers };
  return { ...readAsFarAsPossible(shown), headers: Object.fromEntries(recorded.headers ?? []) };
}

function readAsFarAsPossible(recorded: RecordedEvent): JsonObject {
  try {
    return eventOf(recorded);
  } catch {
    return eventOf({ ...recorded, query: null });
  }
}
