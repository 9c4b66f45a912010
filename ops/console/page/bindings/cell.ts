import type { CodeRun } from './code-run.ts';
import type { Compiled, Outcome } from './compile.ts';
import type { Root } from './expression.ts';

/** A value of the page: given from outside, or computed from others. */
export interface Cell {
  /** As messages name it. */
  readonly name: string;
  /** Absent: its value is given. */
  compiled?: Compiled | undefined;
  /** Gathers all names of a root. */
  gathers?: Root;
  isDeclared: boolean;
  outcome: Outcome;
  /** The cells that it reads, and those that read it. */
  sources: readonly Cell[];
  readonly users: Set<Cell>;
  /** `check`: something that it reads may have changed; `stale`: has changed. */
  mark: 'fresh' | 'check' | 'stale';
  isWorking: boolean;
  /** Set when it is found to read itself. */
  cycle: Cycle | null;
  readonly runs: Map<string, CodeRun>;
  readonly listeners: Set<() => void>;
}

/** Values that read one another in a circle. */
export interface Cycle {
  message: string;
  members: ReadonlySet<Cell>;
}

export const NOTHING: Outcome = { value: undefined, faults: [], isPending: false };

export function newCell(name: string, isDeclared: boolean): Cell {
  return {
    ...{ name, isDeclared, outcome: NOTHING, sources: [], users: new Set(), mark: 'fresh', isWorking: false },
    ...{ cycle: null, runs: new Map(), listeners: new Set() },
  };
}

export function join(user: Cell, source: Cell): void {
  user.sources = [...user.sources, source];
  source.users.add(user);
}

export function leave(user: Cell, source: Cell): void {
  user.sources = user.sources.filter((one) => one !== source);
  source.users.delete(user);
}

/** Ends its reading of others. */
export function leaveAll(user: Cell): void {
  for (const source of user.sources) source.users.delete(user);
  user.sources = [];
  user.runs.clear();
}

/** The same words wherever the circle is entered. */
export function cycleOf(members: readonly Cell[]): Cycle {
  const names = members.map(({ name }) => name);
  const first = names.indexOf(names.toSorted()[0] ?? '');
  const circle = [...names.slice(first), ...names.slice(0, first + 1)];
  return { message: `reads itself: ${circle.join(' → ')}`, members: new Set(members) };
}
