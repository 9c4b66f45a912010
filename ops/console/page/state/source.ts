import type { Outcome } from '../bindings/compile.ts';
import type { QueryAnswer, Refused, Wanted } from './client.ts';

type Values = Readonly<Record<string, unknown>>;

/** How it stands with the data of a query or of a widget, and so with what shows them. */
export interface SourceState extends QueryAnswer {
  status: 'idle' | 'loading' | 'ready' | 'failed';
  isLoading: boolean;
  /** The data are those of before a change, or before a failure. */
  isStale: boolean;
  error: Refused | null;
}

export const IDLE: SourceState = { data: undefined, status: 'idle', isLoading: false, isStale: false, error: null };

/** Something to read: which of it, when, and who is told. */
export interface Source {
  id: string;
  wanted(inputs: Values): Wanted;
  onState(state: SourceState): void;
  /** Its inputs, with expressions. */
  inputs: Values;
  /** Whether it is read when the page opens. */
  isAtOpening: boolean;
  /** Whether it is read again when its inputs change. */
  isReactive: boolean;
  /** Names whose change makes the page read it again. */
  refreshOn: readonly string[];
  everyMs: number;
}

/** A source and how it stands with its requests. */
export interface Reading {
  source: Source;
  state: SourceState;
  /** Counts requests. */
  asked: number;
  /** The request whose answer is shown: answers to those before it are dropped. */
  shown: number;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** Told how the present request has ended, if it is one of an action. */
  onEnd: ((state: SourceState) => void) | undefined;
  /** The last request of an action: the next one is sent after it. */
  last: Promise<unknown>;
  /** Requests of actions that have not ended. */
  waiting: number;
  /** Something else wanted it while an action waited: it is read after that. */
  isWantedAgain: boolean;
  /** Inputs of the next request, where an action gives them. */
  given: Outcome | undefined;
  /** Code was still at work on its inputs when it was to be sent: their change sends it. */
  isDeferred: boolean;
  /** End what follows changes. */
  ends: readonly (() => void)[];
  isRemoved: boolean;
}

export function newReading(source: Source): Reading {
  return {
    ...{ source, state: IDLE, asked: 0, shown: 0, timer: undefined, given: undefined, isDeferred: false },
    ...{ onEnd: undefined, last: Promise.resolve(), waiting: 0, isWantedAgain: false, ends: [], isRemoved: false },
  };
}
