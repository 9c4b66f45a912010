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
  /** Attempts before the event was given to workers again. */
  attemptsBefore: number;
  actions: ActionRecords | null;
  awaitedBy: string | null;
  orderKey: string | null;
  /** The circuit breaker of its listener: `open`, or `probe` if it has let this event through. Null: nothing has failed. */
  breaker: 'failing' | 'open' | 'probe' | null;
  /** Sockets are in the listener's test room. */
  isTested: boolean;
}

const MAX_MESSAGE = 2_000;
const MAX_STACK = 4_000;
/** Attempts at an event whose failure may pass. */
const MAX_ATTEMPTS = 8;
const MAX_WAIT_SECONDS = 300;

/** An attempt that is not written yet, with what is sent after it is. */
export interface Attempted extends AttemptEnd {
  pagePushes?: Performed['pagePushes'];
  tests?: ListenerTest[];
}

/** Why an event is deferred, beside earlier events of its key. */
export function deferralOf({ breaker }: OpenEvent, listener: ReadListener | undefined): DeferredBy | undefined {
  // The error of a listener with a connection is about the connection: what it has recorded goes on.
  if (listener?.status === 'error' && findListenerType(listener.type)?.hasEndpoint) return 'listener';
  return breaker === 'open' ? 'target' : undefined;
}

/** The attempt is not counted: another will succeed when the creator may again. */
export function stopOf({ id: eventID, listenerID }: OpenEvent, { message: error }: AppError): AttemptEnd {
  return { eventID, state: 'pending', runs: [], deferredBy: 'listener', stops: { listenerID, error } };
}

export function endOf(found: OpenEvent, { failures, isFiltered, records, ...made }: Performed): Attempted {
  const actions = storedRecords(records);
  // One that may pass decides, so that the event is tried again; the others are not done again.
  const failure = failures.find(({ retry }) => retry) ?? failures[0];
  if (failure) return { ...failureOf(found, failure), ...made, actions };
  const ofTarget = isFiltered ? ofProbe(found) : found.breaker && targetOf(found, 'reached');
  return {
    eventID: found.id,
    state: isFiltered ? 'filtered' : 'done',
    actions,
    ...made,
    ...(ofTarget && { ofTarget }),
  };
}

function targetOf({ tenantID, listenerID, breaker }: OpenEvent, outcome: OfTarget['outcome']): OfTarget {
  return { tenantID, listenerID, outcome, isProbe: breaker === 'probe' };
}

/** Outcome for the target of an event that has not reached it. */
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
