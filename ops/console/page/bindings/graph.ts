import { type Cell, type Cycle, cycleOf, join, leave, leaveAll, NOTHING, newCell } from './cell.ts';
import { type CodeRun, type CodeRunner, computeOnce, orNothing, startRun } from './code-run.ts';
import { build, type Compiled, compile, type Outcome, type Reader } from './compile.ts';
import type { Name, Root } from './expression.ts';
import { follow } from './follow.ts';
import { isSame } from './is-same.ts';

/** Rounds of changes that follow one another before the browser gets a turn. */
const MAX_ROUNDS = 50;

/**
 * The values of a page, and what is computed from them. A change marks what depends on it; computed are only those values that have a
 * listener or are read, and only while something that they read has changed.
 */
export class Bindings {
  readonly #runner: CodeRunner;
  readonly #named = new Map<string, Cell>();
  readonly #roots = new Map<Root, Cell>();
  readonly #computed = new Map<string, Cell>();
  /** Those being computed, the outermost first. */
  readonly #working: Cell[] = [];
  /** With the outcome that listeners know: a read before they are called must not hide the change from them. */
  readonly #due = new Map<Cell, Outcome>();
  #isScheduled = false;

  constructor(runner: CodeRunner) {
    this.#runner = runner;
  }

  /** Gives a name its value, and declares it. */
  set(root: Root, key: string, value: unknown): void {
    const cell = this.#cellOf({ root, key });
    const wasDeclared = this.#declare(cell, root);
    if (cell.compiled) leaveAll(cell);
    cell.compiled = undefined;
    cell.mark = 'fresh';
    if (wasDeclared && cell.outcome.faults.length === 0 && isSame(cell.outcome.value, value)) return;
    cell.outcome = { ...NOTHING, value };
    this.#changed(cell);
  }

  /** Takes a name away: what reads it is told that there is no such thing. */
  undeclare(root: Root, key: string): void {
    const cell = this.#cellOf({ root, key });
    if (!cell.isDeclared) return;
    leaveAll(cell);
    Object.assign(cell, { compiled: undefined, mark: 'fresh', isDeclared: false, outcome: NOTHING });
    this.#changed(cell);
    const whole = this.#roots.get(root);
    if (whole) leave(whole, cell);
  }

  /** Declares a name whose value is computed, until it is set. */
  compute(root: Root, key: string, json: unknown): void {
    const cell = this.#cellOf({ root, key });
    if (!this.#declare(cell, root)) this.#changed(cell);
    this.#link(cell, compile(json));
  }

  /** Defines a value that has no name in expressions; a second definition takes the place of the first. */
  define(id: string, json: unknown): void {
    const cell = this.#computed.get(id) ?? newCell(id, true);
    this.#computed.set(id, cell);
    this.#link(cell, compile(json));
  }

  remove(id: string): void {
    const cell = this.#computed.get(id);
    if (cell) leaveAll(cell);
    this.#computed.delete(id);
  }

  /** The same object until something changes. */
  read(id: string): Outcome {
    const cell = this.#computed.get(id);
    if (!cell) return NOTHING;
    this.#refresh(cell);
    return cell.outcome;
  }

  /** The value of a name; undefined if it cannot be computed. */
  get(root: Root, key: string): unknown {
    const cell = this.#cellOf({ root, key });
    this.#refresh(cell);
    return cell.outcome.value;
  }

  /** Calls the listener after each change; the answer ends that. */
  observe(id: string, listener: () => void): () => void {
    const cell = this.#computed.get(id) ?? newCell(id, true);
    this.#computed.set(id, cell);
    cell.listeners.add(listener);
    return () => cell.listeners.delete(listener);
  }

  /** The value at this moment, with names that are there for it alone. */
  once(json: unknown, own: Partial<Record<Root, unknown>> = {}): Promise<Outcome> {
    const name = ({ root, key }: Name) => {
      if (Object.hasOwn(own, root)) return key === null ? own[root] : follow(own[root], [key]);
      return this.#valueOf(this.#cellOf({ root, key }));
    };
    return computeOnce(json, { runner: this.#runner, name });
  }

  #cellOf({ root, key }: Name): Cell {
    if (key === null) return this.#gathered(root);
    const id = `${root}.${key}`;
    const cell = this.#named.get(id) ?? newCell(id, false);
    this.#named.set(id, cell);
    return cell;
  }

  #gathered(root: Root): Cell {
    const known = this.#roots.get(root);
    if (known) return known;
    const cell: Cell = { ...newCell(root, true), gathers: root, mark: 'stale' };
    this.#roots.set(root, cell);
    for (const one of this.#declaredIn(root)) join(cell, one);
    return cell;
  }

  #declaredIn(root: Root): Cell[] {
    return [...this.#named.values()].filter(({ name, isDeclared }) => isDeclared && name.startsWith(`${root}.`));
  }

  /** Answers whether it was declared before. */
  #declare(cell: Cell, root: Root): boolean {
    if (cell.isDeclared) return true;
    cell.isDeclared = true;
    const whole = this.#roots.get(root);
    if (whole) {
      join(whole, cell);
      this.#changed(cell);
    }
    return false;
  }

  #link(cell: Cell, compiled: Compiled): void {
    leaveAll(cell);
    cell.compiled = compiled;
    for (const name of compiled.names) join(cell, this.#cellOf(name));
    this.#touch(cell, 'stale');
    this.#schedule();
  }

  /** Marks what reads a cell whose value has changed, and all behind that. */
  #changed(cell: Cell): void {
    for (const user of cell.users) this.#touch(user, 'stale');
    this.#schedule();
  }

  /** A loop and not a recursion, because chains may be long. */
  #touch(first: Cell, mark: 'check' | 'stale'): void {
    const left: { cell: Cell; mark: 'check' | 'stale' }[] = [{ cell: first, mark }];
    for (let next = left.pop(); next; next = left.pop()) {
      const { cell } = next;
      const wasFresh = cell.mark === 'fresh';
      if (cell.mark !== 'stale') cell.mark = next.mark;
      if (cell.listeners.size > 0 && !this.#due.has(cell)) this.#due.set(cell, cell.outcome);
      // Those behind one that is marked are marked already.
      if (wasFresh) for (const user of cell.users) left.push({ cell: user, mark: 'check' });
    }
  }

  #schedule(): void {
    if (this.#isScheduled || this.#due.size === 0) return;
    this.#isScheduled = true;
    queueMicrotask(() => this.#settle());
  }

  #settle(): void {
    for (let round = 0; round < MAX_ROUNDS && this.#due.size > 0; round += 1) {
      const cells = [...this.#due];
      this.#due.clear();
      for (const [cell, before] of cells) {
        this.#refresh(cell);
        if (cell.outcome !== before) for (const listener of [...cell.listeners]) listener();
      }
    }
    this.#isScheduled = false;
    if (this.#due.size === 0) return;
    this.#isScheduled = true;
    setTimeout(() => this.#settle());
  }

  #refresh(cell: Cell): void {
    if (cell.mark === 'fresh' || cell.isWorking) return;
    cell.isWorking = true;
    this.#working.push(cell);
    try {
      if (cell.mark === 'check') this.#check(cell);
      if (cell.mark === 'stale') this.#evaluate(cell);
      cell.mark = 'fresh';
    } finally {
      this.#working.pop();
      cell.isWorking = false;
    }
  }

  /** Brings what it reads up to date, until one of that has changed. */
  #check(cell: Cell): void {
    for (const source of cell.sources) {
      if (source.isWorking) cell.mark = 'stale';
      else this.#refresh(source);
      if (cell.mark === 'stale') return;
    }
  }

  #evaluate(cell: Cell): void {
    cell.cycle = null;
    const next = this.#outcomeOf(cell);
    // Found below, when the cell itself was read.
    const cycle = cell.cycle as Cycle | null;
    const outcome = cycle === null ? next : { ...NOTHING, faults: [{ source: cell.name, message: cycle.message }] };
    if (isSame(cell.outcome, outcome)) return;
    cell.outcome = outcome;
    // Those of its circle have the same fault. Marked by one another, they would never come to an end.
    for (const user of cell.users)
      if (cycle?.members.has(user)) continue;
      else if (user.isWorking) user.mark = 'stale';
      else this.#touch(user, 'stale');
  }

  #outcomeOf(cell: Cell): Outcome {
    if (cell.gathers) {
      const entries = cell.sources.map((one) => [
        one.name.slice(`${cell.gathers}.`.length),
        orNothing(() => this.#valueOf(one)),
      ]);
      return { ...NOTHING, value: Object.fromEntries(entries) };
    }
    if (!cell.compiled) return cell.outcome;
    let isPending = false;
    const reader: Reader = {
      name: (name) => this.#valueOf(this.#cellOf(name)),
      code: (source) => {
        const run = this.#codeRun(cell, source);
        isPending ||= run.isPending;
        if (run.fault !== null) throw new Error(run.fault);
        return run.value;
      },
    };
    const built = build(cell.compiled, reader);
    return { ...built, isPending };
  }

  #valueOf(cell: Cell): unknown {
    if (cell.isWorking) throw new Error(this.#noteCycle(cell));
    this.#refresh(cell);
    if (!cell.isDeclared) throw new Error(missing(cell.name));
    return cell.outcome.value;
  }

  /** All that read one another in a circle are told. */
  #noteCycle(cell: Cell): string {
    const members = this.#working.slice(this.#working.indexOf(cell));
    const cycle = cycleOf(members);
    for (const member of members) member.cycle = cycle;
    return cycle.message;
  }

  /** The evaluation of code with these values: one that is done or under way, else a new one. */
  #codeRun(cell: Cell, source: string): CodeRun {
    const names = cell.compiled?.code.find((one) => one.source === source)?.names ?? [];
    const scope = names.map((name) => ({ ...name, value: orNothing(() => this.#valueOf(this.#cellOf(name))) }));
    const known = cell.runs.get(source);
    if (known && scope.every(({ value }, at) => Object.is(value, known.scope[at]?.value))) return known;
    const run = startRun(this.#runner, { source, scope, before: known?.value }, (ended) => {
      if (cell.runs.get(source) !== ended) return;
      this.#touch(cell, 'stale');
      this.#schedule();
    });
    cell.runs.set(source, run);
    return run;
  }
}

const nouns: Readonly<Record<string, string>> = {
  queries: 'query',
  workflows: 'workflow',
  variables: 'variable',
  widgets: 'widget',
};

function missing(name: string): string {
  const [root = '', key] = [name.slice(0, name.indexOf('.')), name.slice(name.indexOf('.') + 1)];
  return `there is no ${nouns[root] ?? 'value'} “${key}” ${nouns[root] ? 'on this page' : 'here'}`;
}
