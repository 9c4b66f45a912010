import type { Json, JsonObject } from '#shared/core/json.ts';
import type { GraphNode } from '#shared/workflow/graph/graph.ts';
import { isReservedKey } from '#shared/workflow/reserved.ts';
import { ERROR_KEY } from '#shared/workflow/run-error.ts';
import { type Certainty, type Dependencies, onlyOn, union } from './certainty.ts';

/** A value of `ctx`, or what it depends on. */
type Value = { known: Json } | { on: Dependencies };

interface Writer {
  node: GraphNode;
  /** Whether the node is reached, and so writes. If that depends on something, the value depends on the same. */
  certainty: Certainty;
  value: Value;
}

/** Returns the nodes before a node, as a bit set of their indices. */
export type Before = (node: GraphNode) => Uint32Array;

/**
 * The `ctx` at a node, as far as it follows from the input. Of several nodes that write a key, the last one before the node gives the
 * value; if their order is open, because they are on different branches, the value depends on all of them.
 */
export class PlannedScope {
  readonly #given: Map<string, Value>;
  readonly #around: { scope: PlannedScope; container: GraphNode } | null;
  readonly #before: Before;
  readonly #writers = new Map<string, Writer[]>();
  /** Writers whose keys are not known. */
  readonly #anyKey: Writer[] = [];
  /** Nodes that may fail without ending the run. */
  readonly #failing: GraphNode[] = [];

  constructor(given: Map<string, Value>, before: Before, around: PlannedScope['around'] = null) {
    this.#given = given;
    this.#before = before;
    this.#around = around;
  }

  get around() {
    return this.#around;
  }

  /** Records that a node sets these values. */
  set(node: GraphNode, patch: JsonObject, certainty: Certainty): void {
    for (const [key, known] of Object.entries(patch)) this.#write(key, { node, certainty, value: { known } });
  }

  /** Records that a node sets an unknown value: under this key, or, with null, under unknown keys. */
  setUnknown(node: GraphNode, key: string | null, { on, certainty }: { on: Dependencies; certainty: Certainty }): void {
    const writer = { node, certainty, value: { on } };
    if (key === null) this.#anyKey.push(writer);
    else this.#write(key, writer);
  }

  /** Records that a node may fail without ending the run. */
  fail(node: GraphNode): void {
    this.#failing.push(node);
  }

  #write(key: string, writer: Writer): void {
    const writers = this.#writers.get(key);
    if (writers) writers.push(writer);
    else this.#writers.set(key, [writer]);
  }

  /** The `ctx` at a node. An unknown value reads as null, and `note` gets what it depends on. */
  at(node: GraphNode, note: (on: Dependencies) => void): JsonObject {
    const find = (key: string | symbol) =>
      typeof key === 'string' ? (this.#valueOf(key, node) ?? this.#errorOf(key, node)) : undefined;
    return new Proxy<JsonObject>(
      {},
      {
        get(_target, key) {
          const value = find(key);
          if (value === undefined || 'known' in value) return value?.known;
          note(value.on);
          return null;
        },
        has: (_target, key) => find(key) !== undefined,
        ownKeys: () => [...this.#keys()].filter((key) => find(key) !== undefined),
        getOwnPropertyDescriptor: (_target, key) =>
          find(key) && { value: null, writable: true, enumerable: true, configurable: true },
      },
    );
  }

  *#keys(): Generator<string> {
    const own = new Set([...this.#given.keys(), ...this.#writers.keys()]);
    yield* own;
    if (this.#around) for (const key of this.#around.scope.#keys()) if (!own.has(key)) yield key;
  }

  /** The value of `ctx.error` at a node, unless a node sets that key: it depends on the failures of the nodes before it. */
  #errorOf(key: string, node: GraphNode): Value | undefined {
    if (key !== ERROR_KEY) return undefined;
    const before = this.#failing.filter((failing) => has(this.#before(node), failing));
    if (before.length > 0) return { on: failuresOf(before) };
    if (!this.#around) return undefined;
    const { scope, container } = this.#around;
    return scope.#errorOf(key, container);
  }

  #valueOf(key: string, node: GraphNode): Value | undefined {
    const anyKey = isReservedKey(key) ? [] : this.#anyKey;
    const writers = [...(this.#writers.get(key) ?? []), ...anyKey].filter((writer) => writer.node !== node);
    if (writers.length > 0) {
      const last = writers.at(-1);
      const earlier = writers.slice(0, -1);
      const isLast =
        last &&
        has(this.#before(node), last.node) &&
        earlier.every((writer) => has(this.#before(last.node), writer.node));
      if (isLast && last.certainty.is === true && !this.#anyKey.includes(last)) return last.value;
      return { on: union(writers.map(dependenciesOf)) };
    }
    const given = this.#given.get(key);
    if (given || !this.#around) return given;
    const { scope, container } = this.#around;
    return scope.#valueOf(key, container);
  }
}

function failuresOf(nodes: readonly GraphNode[]): Dependencies {
  return union(nodes.map(({ id: nodeID }) => onlyOn({ nodeID, on: 'failure' })));
}

function dependenciesOf({ node, value, certainty }: Writer): Dependencies {
  const ofValue = 'on' in value ? value.on : onlyOn({ nodeID: node.id, on: 'output' });
  return certainty.is === 'depends' ? union([certainty.on, ofValue]) : ofValue;
}

export function has(bits: Uint32Array, { index }: GraphNode): boolean {
  return ((bits[index >>> 5] ?? 0) & (1 << (index & 31))) !== 0;
}
