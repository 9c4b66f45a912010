import type { RunWait } from '#shared/messaging/realtime/run-shapes.ts';
import type { Activation } from '#shared/workflow/progress/progress.ts';
import type { AwaitedEvent, PendingChild, PendingMap, PendingRequest } from './pending-commit.ts';

export interface Wait {
  kind: 'time' | 'child' | 'input' | 'event' | 'chunks';
  /** `park`: the result continues the node. `retry`: the node runs again. `next`: the node begins the next iteration of its body. */
  purpose: 'park' | 'retry' | 'next';
  /** Milliseconds from now until the wait is over, or is looked at again; null without an end. */
  ms: number | null;
  /** Milliseconds from the beginning of the wait to its end, if it has begun before. */
  spanMs?: number | null;
  /** Milliseconds until a question expires. `ms` is shorter while a reminder comes first. */
  expiresInMs?: number | null;
  /** The id of the child run, the question, the wait for an event, or the map. */
  ref?: string | undefined;
  child?: PendingChild;
  request?: PendingRequest;
  awaited?: AwaitedEvent;
  map?: PendingMap;
  /** How many reminders of a question have been recorded. */
  reminded?: number;
}

interface Waiting extends Pick<Wait, 'kind' | 'purpose' | 'ref'> {
  dueAt: number | null;
  /** Milliseconds from the beginning of the wait to its end. */
  spanMs: number | null;
  /** The end of the wait as clients see it: for a question, when it expires. */
  until: number | null;
  reminded: number;
  timer: NodeJS.Timeout | null;
}

const reasons = {
  time: 'delay',
  child: 'child',
  chunks: 'child',
  input: 'input',
  event: 'event',
} as const satisfies Record<Wait['kind'], RunWait['reason']>;
/** The wait of the lowest rank is shown to clients as the one of the run. */
const ranks = { input: 0, event: 1, child: 2, chunks: 2, time: 3 } as const satisfies Record<Wait['kind'], number>;

/** A run does not park for delays up to this: parking and claiming again would cost more. */
const SHORT_MS = 2000;

/** The waits of an owned run, with timers for their time. */
export class Waits {
  readonly #waiting = new Map<Activation, Waiting>();

  get size(): number {
    return this.#waiting.size;
  }

  get activations(): Activation[] {
    return [...this.#waiting.keys()];
  }

  of(activation: Activation): Pick<Waiting, 'kind' | 'purpose' | 'ref' | 'reminded' | 'spanMs'> | undefined {
    return this.#waiting.get(activation);
  }

  get hasChildren(): boolean {
    return [...this.#waiting.values()].some(({ kind }) => kind === 'child' || kind === 'chunks');
  }

  /** Activations whose wait ends with another attempt. */
  get retrying(): Activation[] {
    return [...this.#waiting].flatMap(([activation, { purpose }]) => (purpose === 'retry' ? [activation] : []));
  }

  /** The reason for which the run waits; of several waits the one that a user can act on, or that ends first. */
  get reason(): RunWait | undefined {
    const [first] = [...this.#waiting.values()].sort(
      (a, b) => ranks[a.kind] - ranks[b.kind] || (a.dueAt ?? Infinity) - (b.dueAt ?? Infinity),
    );
    if (!first) return undefined;
    const { kind, ref, until } = first;
    return {
      reason: reasons[kind],
      ...(until !== null && { until: new Date(until).toISOString() }),
      ...(kind === 'input' && ref !== undefined && { collectionRequestID: ref }),
    };
  }

  /** Whether one of the waits ends so soon that the run does not park. */
  get hasShort(): boolean {
    return [...this.#waiting.values()].some(isShort);
  }

  /** Begins a wait. `onDue` is called when its time comes. */
  begin(
    activation: Activation,
    { kind, purpose, ms, spanMs = ms, ref, reminded = 0, expiresInMs = ms }: Wait,
    onDue: () => void,
  ): void {
    clearTimeout(this.#waiting.get(activation)?.timer ?? undefined);
    const timer = ms === null ? null : setTimeout(onDue, Math.min(Math.max(ms, 0), 2 ** 31 - 1));
    const [dueAt, until] = [inFuture(ms), inFuture(expiresInMs)];
    const subject = { kind, purpose, ...(ref !== undefined && { ref }) };
    this.#waiting.set(activation, { ...subject, dueAt, spanMs, until, reminded, timer });
  }

  /** Calls `onDue` again later, for a wait that is not over yet by the database's clock. */
  askAgain(activation: Activation, ms: number, onDue: () => void): void {
    const waiting = this.#waiting.get(activation);
    if (waiting) waiting.timer = setTimeout(onDue, ms);
  }

  /** Ends the wait of an activation, if it has one. */
  end(activation: Activation): Wait['purpose'] | undefined {
    const waiting = this.#waiting.get(activation);
    if (waiting?.timer) clearTimeout(waiting.timer);
    this.#waiting.delete(activation);
    return waiting?.purpose;
  }

  stopTimers(): void {
    for (const { timer } of this.#waiting.values()) if (timer) clearTimeout(timer);
  }
}

function inFuture(ms: number | null): number | null {
  return ms === null ? null : Date.now() + ms;
}

function isShort({ kind, dueAt }: Waiting): boolean {
  return kind === 'time' && dueAt !== null && dueAt - Date.now() <= SHORT_MS;
}
