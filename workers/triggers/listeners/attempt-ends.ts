import type { AppError } from '#shared/core/errors.ts';
import type { ListenerTest } from '#shared/messaging/realtime/listener-tests.ts';
import type { RecordedEvent } from '#shared/triggers/listeners/event.ts';
import type { DeferredBy } from '#shared/triggers/listeners/event-states.ts';
import type { ReadListener } from '#shared/triggers/listeners/listener-reader.ts';
import { findListenerType } from '#shared/triggers/listeners/types/index.ts';
import { type ActionRecords, type Performed, storedRecords } from './actions/run-actions.ts';
import type { AttemptEnd } from './end-attempts.ts';
import type { OfTarget } from './note-targets.ts';

/** An event that is not finished. */
export interface OpenEvent extends RecordedEvent {
  bodyBytes: number;
  attempts: number;
  /** Attempts before the event was redriven, which do not count towards the limit. */
  attemptsBefore: number;
  actions: ActionRecords | null;
  awaitedBy: string | null;
  orderKey: string | null;
  /** Circuit breaker of the listener: counting failures, `open`, or open with this event as its `probe`. Null: there were no failures. */
  breaker: 'failing' | 'open' | 'probe' | null;
  /** Whether sockets receive the listener's events for a test. */
  isTested: boolean;
}

const MAX_MESSAGE = 2_000;
const MAX_STACK = 4_000;
/** Attempts at an event whose errors may be temporary. */
const MAX_ATTEMPTS = 8;
const MAX_WAIT_SECONDS = 300;

/** End of an attempt that is not written yet, with the messages that are sent after it is. */
export interface Attempted extends AttemptEnd {
  pagePushes?: Performed['pagePushes'];
  tests?: ListenerTest[];
}

/** Reason to defer an event, other than earlier events of its ordering key. */
export function deferralOf({ breaker }: OpenEvent, listener: ReadListener | undefined): DeferredBy | undefined {
  // A listener with an endpoint and the status `error` was stopped. With a connection, the error is about the connection, and events
  // that were recorded are processed.
  if (listener?.status === 'error' && findListenerType(listener.type)?.hasEndpoint) return 'listener';
  return breaker === 'open' ? 'target' : undefined;
}

/** Stops the listener and defers the event. The attempt is not counted: a later one can succeed when the creator has the permission. */
export function stopOf({ id: eventID, listenerID }: OpenEvent, { message: error }: AppError): AttemptEnd {
  return { eventID, state: 'pending', runs: [], deferredBy: 'listener', stops: { listenerID, error } };
}

export function endOf(found: OpenEvent, { failures, isFiltered, records, ...effects }: Performed): Attempted {
  const actions = storedRecords(records);
  // If one of the errors may be temporary, the event is tried again, without the actions that have ended.
  const failure = failures.find(({ retry }) => retry) ?? failures[0];
  if (failure) return { ...failureOf(found, failure), ...effects, actions };
  const ofTarget = isFiltered ? ofProbe(found) : found.breaker && targetOf(found, 'reached');
  return {
    eventID: found.id,
    state: isFiltered ? 'filtered' : 'done',
    actions,
    ...effects,
    ...(ofTarget && { ofTarget }),
  };
}

function targetOf({ tenantID, listenerID, breaker }: OpenEvent, outcome: OfTarget['outcome']): OfTarget {
  return { tenantID, listenerID, outcome, isProbe: breaker === 'probe' };
}

/** Outcome of an event that has not reached the target: only a probe has to report that to the breaker. */
function ofProbe(found: OpenEvent): OfTarget | undefined {
  return found.breaker === 'probe' ? targetOf(found, 'unknown') : undefined;
}

export function failureOf(found: OpenEvent, error: AppError): AttemptEnd {
  const { id: eventID, attempts, attemptsBefore } = found;
  const about = { code: error.code, message: error.message.slice(0, MAX_MESSAGE) };
  const tried = attempts - attemptsBefore;
  const isLast = !error.retry || tried + 1 >= MAX_ATTEMPTS;
  const waitSeconds = Math.min(2 ** tried, MAX_WAIT_SECONDS) * (0.75 + 0.5 * Math.random());
  const stack = isLast ? stackOf(error) : null;
  const ofTarget = error.retry ? targetOf(found, 'failed') : ofProbe(found);
  return { eventID, state: isLast ? 'dead' : 'pending', runs: [], error: about, stack, waitSeconds, ofTarget };
}

function stackOf(error: AppError): string {
  const cause = error.cause instanceof Error ? `\nCaused by: ${error.cause.stack}` : '';
  return `${error.stack}${cause}`.slice(0, MAX_STACK);
}
