/** A value with what it was before, and what was taken back of it. */
export interface History<T> {
  now: T;
  past: readonly T[];
  future: readonly T[];
  /** When and what of it was changed last. */
  at: number;
  what: string | undefined;
  /** How often something was taken back, done again, put there as a whole or begun anew: fields that keep what is typed begin anew then. */
  moves: number;
}

export type HistoryAction<T> =
  | { type: 'change'; next: (now: T) => T; at: number; what?: string | undefined; isAnew?: boolean }
  | { type: 'restart'; now: T }
  | { type: 'undo' }
  | { type: 'redo' };

/** Changes of one thing that are closer to each other are one step, so that a typed word is taken back as a whole. */
const SAME_EDIT_MS = 700;
const MAX_STEPS = 200;

export function beginHistory<T>(now: T): History<T> {
  return { now, past: [], future: [], at: 0, what: undefined, moves: 0 };
}

export function historyReducer<T>(history: History<T>, action: HistoryAction<T>): History<T> {
  const { now, past, future, at, what, moves } = history;
  if (action.type === 'restart') return { ...beginHistory(action.now), moves: moves + 1 };
  if (action.type === 'change') {
    const next = action.next(now);
    if (next === now) return history;
    const isSameEdit = action.what !== undefined && action.what === what && action.at - at < SAME_EDIT_MS;
    return {
      ...{ now: next, moves: moves + (action.isAnew ? 1 : 0), at: action.at, what: action.what, future: [] },
      past: isSameEdit ? past : [...past, now].slice(-MAX_STEPS),
    };
  }
  if (action.type === 'undo') {
    const before = past.at(-1);
    if (before === undefined) return history;
    return { now: before, past: past.slice(0, -1), future: [now, ...future], at, what: undefined, moves: moves + 1 };
  }
  const [after, ...rest] = future;
  if (after === undefined) return history;
  return { now: after, past: [...past, now], future: rest, at, what: undefined, moves: moves + 1 };
}
