import type { Bindings } from '../bindings/graph.ts';
import { createStore, type Store } from './store.ts';

type Values = Readonly<Record<string, unknown>>;

/** Values of widgets that expressions of others read: `widgets.<name>.value`. */
export class WidgetValues {
  readonly #bindings: Bindings;
  readonly #stores = new Map<string, Store<Values>>();
  #names: ReadonlyMap<string, readonly string[]> = new Map();

  constructor(bindings: Bindings) {
    this.#bindings = bindings;
  }

  /** Gives the widgets of the page their names: which one has a name of its own depends on all. */
  name(keys: readonly string[]): void {
    const before = [...this.#names.values()].flat();
    this.#names = namesOf(keys);
    const all = new Set([...this.#names.values()].flat());
    for (const name of before) if (!all.has(name)) this.#bindings.undeclare('widgets', name);
    for (const key of keys) this.expose(key, {});
  }

  expose(key: string, part: Values): void {
    const store = this.of(key);
    const next = { ...store.get(), ...part };
    store.set(next);
    for (const name of this.#names.get(key) ?? []) this.#bindings.set('widgets', name, next);
  }

  of(key: string): Store<Values> {
    const known = this.#stores.get(key) ?? createStore<Values>({});
    this.#stores.set(key, known);
    return known;
  }

  remove(key: string): void {
    this.#stores.delete(key);
  }

  keyOf(nameOrKey: string): string {
    const [key = nameOrKey] = [...this.#names].find(([, names]) => names.includes(nameOrKey)) ?? [];
    return key;
  }
}

/** The names by which expressions read a widget: its key, and the end of the key where it is the only one with that end. */
function namesOf(keys: readonly string[]): Map<string, readonly string[]> {
  const ends = keys.map((key) => /^widget_[\da-f-]{36}_(.+)$/i.exec(key)?.[1]);
  const counts = new Map<string | undefined, number>();
  for (const end of ends) counts.set(end, (counts.get(end) ?? 0) + 1);
  return new Map(
    keys.map((key, at) => {
      const end = ends[at];
      return [key, end !== undefined && counts.get(end) === 1 ? [key, end] : [key]];
    }),
  );
}
