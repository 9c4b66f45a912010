import type { Json, JsonObject } from '#shared/core/json.ts';
import type { IterationPath } from '#shared/workflow/progress/iteration-path.ts';
import type { Source } from './source.ts';

interface Scope {
  /** Replaced by a copy when values are offloaded: a node that has begun still reads the object that it began with. */
  ctx: JsonObject;
  /** Values that no output has set: the input of the run, or the item of an iteration. */
  readonly given: JsonObject;
  /** For each key, the output that has set its value. */
  readonly sources: Map<string, Source>;
  /** The errors of failed nodes after which the run went on, by the ids of the nodes, the latest last. */
  readonly errors: Map<string, PassedError>;
}

/** An error, and the outcome that it belongs to. */
interface PassedError {
  error: JsonObject;
  source: Source;
}

/** The scope of an open iteration as JSON, with the numbers of the events that have its outputs. */
export interface ScopeSnapshot {
  path: IterationPath;
  given: JsonObject;
  /** Keys with a value that was given to the outermost scope, such as the input of the run. No checkpoint repeats these values. */
  inherited?: string[];
  outputs: number[];
}

interface Patch {
  /** The path of the activation that has the output. */
  path: IterationPath;
  patch: JsonObject;
}

interface Passed {
  /** The path of the activation that has failed. */
  path: IterationPath;
  nodeID: string;
  error: JsonObject;
}

/** The keys of `ctx` that a node may read; `all` if that is known only when its code runs. */
export type Keys = ReadonlySet<string> | 'all';

/** A key of `ctx` whose value is offloaded, and the output that has it. */
export type Missing = readonly [key: string, source: Source];

/** Stands in `ctx` for an offloaded value, which is read from its row for nodes that name it. Throws if it is written as JSON instead. */
const OFFLOADED: Json = Object.freeze({
  toJSON(): never {
    throw new Error('A value that is kept apart was not read');
  },
  // The cast: the function is not JSON, because it is there to throw.
}) as unknown as Json;

/** A scope without the keys whose values are offloaded. */
export function withoutOffloaded(ctx: JsonObject): JsonObject {
  const entries = Object.entries(ctx);
  const resident = entries.filter(([, value]) => value !== OFFLOADED);
  return resident.length === entries.length ? ctx : Object.fromEntries(resident);
}

/** The scopes that templates and code call `ctx`: one for the nodes outside of bodies, and one for each open iteration. */
export class Scopes {
  readonly #outermost: Scope;
  /** The scopes of open iterations, by the path that the activations of an iteration share. */
  readonly #inner = new Map<IterationPath, Scope>();
  /** For each scope that a checkpoint had: the numbers of the events whose outputs belong into it. */
  readonly #expected = new WeakMap<Scope, ReadonlySet<number>>();
  #length = 0;
  #hasOffloaded = false;

  constructor(given: JsonObject) {
    this.#outermost = createScope(given);
  }

  /** Length of the outputs whose values are in memory. */
  get length(): number {
    return this.#length;
  }

  /** Whether values of some outputs are offloaded. */
  get hasOffloaded(): boolean {
    return this.#hasOffloaded;
  }

  of(path: IterationPath): JsonObject {
    return this.#scope(path).ctx;
  }

  /** Values in the `ctx` of a path that are offloaded, of these keys. */
  missing(path: IterationPath, keys: Keys): Missing[] {
    if (!this.#hasOffloaded) return [];
    const { sources } = this.#scope(path);
    const wanted = keys === 'all' ? sources.keys() : keys;
    return [...wanted].flatMap((key): Missing[] => {
      const source = sources.get(key);
      return source?.isOffloaded ? [[key, source]] : [];
    });
  }

  /** Opens the scope of an iteration: a copy of the scope around it, and `values`. Later changes of one do not show in the other. */
  open(path: IterationPath, around: IterationPath, values: JsonObject): void {
    const { ctx, given, sources, errors } = this.#scope(around);
    const inherited = Object.entries(given).filter(([key]) => !sources.has(key));
    const unchanged = [...sources].filter(([key]) => !Object.hasOwn(values, key));
    for (const [, source] of unchanged) this.#use(source);
    for (const { source } of errors.values()) this.#use(source);
    this.#inner.set(path, {
      ctx: { ...ctx, ...values },
      given: { ...Object.fromEntries(inherited), ...values },
      sources: new Map(unchanged),
      errors: new Map(errors),
    });
  }

  /** Forgets the scope of an iteration, and the scopes of iterations inside of it. */
  close(path: IterationPath): void {
    for (const [other, scope] of this.#inner) {
      if (!isWithin(other, path)) continue;
      for (const source of sourcesOf(scope)) this.#unuse(source);
      this.#inner.delete(other);
    }
  }

  /** Sets values from an output. */
  set({ path, patch }: Patch, source: Source): void {
    this.#put(this.#scope(path), patch, source);
  }

  /** Records the error of a failed node after which the run goes on. */
  pass({ path, nodeID, error }: Passed, source: Source): void {
    this.#pass(this.#scope(path), nodeID, { error, source });
  }

  /** Records such an error in every scope that a checkpoint says had it. To be called in the order of `seq`. */
  restorePassed({ path, nodeID, error }: Passed, source: Source): void {
    if (path.length === 0) this.pass({ path, nodeID, error }, source);
    for (const scope of this.#inner.values())
      if (this.#expected.get(scope)?.has(source.seq)) this.#pass(scope, nodeID, { error, source });
  }

  #pass({ errors }: Scope, nodeID: string, passed: PassedError): void {
    const before = errors.get(nodeID);
    this.#use(passed.source);
    if (before) this.#unuse(before.source);
    errors.delete(nodeID);
    errors.set(nodeID, passed);
  }

  /** Whether a scope has errors of nodes. */
  hasErrors(path: IterationPath): boolean {
    return this.#scope(path).errors.size > 0;
  }

  /** The latest error in a scope that is of one of these nodes. */
  errorOf(path: IterationPath, nodeIDs: { has(nodeID: string): boolean }): JsonObject | undefined {
    return [...this.#scope(path).errors].findLast(([nodeID]) => nodeIDs.has(nodeID))?.[1].error;
  }

  /** The outputs from which a scope still has a value or an error. */
  sources(): Source[] {
    return [this.#outermost, ...this.#inner.values()].flatMap((scope) => [...sourcesOf(scope)]);
  }

  /** Removes the values of a large output from memory. By now they are in its row. */
  offload(source: Source): void {
    if (source.isOffloaded) return;
    if (source.uses > 0) this.#length -= source.length;
    source.isOffloaded = true;
    if (source.uses === 0) return;
    this.#hasOffloaded = true;
    for (const scope of [this.#outermost, ...this.#inner.values()]) {
      const keys = [...scope.sources].flatMap(([key, keySource]) =>
        keySource === source ? [[key, OFFLOADED] as const] : [],
      );
      if (keys.length > 0) scope.ctx = { ...scope.ctx, ...Object.fromEntries(keys) };
    }
  }

  /** The scopes of open iterations, for a checkpoint. */
  snapshot(): ScopeSnapshot[] {
    const { given: outermost } = this.#outermost;
    return [...this.#inner].map(([path, scope]) => {
      const given = Object.entries(scope.given);
      const isInherited = ([key, value]: (typeof given)[number]) =>
        Object.hasOwn(outermost, key) && outermost[key] === value;
      return {
        path,
        given: Object.fromEntries(given.filter((entry) => !isInherited(entry))),
        inherited: given.filter(isInherited).map(([key]) => key),
        outputs: [...new Set([...sourcesOf(scope)].map(({ seq }) => seq))].sort((a, b) => a - b),
      };
    });
  }

  /** Opens the scope of an iteration from a snapshot. Its outputs are restored afterwards. */
  load(path: IterationPath, { given, inherited = [], outputs }: Omit<ScopeSnapshot, 'path'>): void {
    const { given: outermost } = this.#outermost;
    const scope = createScope({
      ...Object.fromEntries(inherited.map((key) => [key, outermost[key] ?? null])),
      ...given,
    });
    this.#inner.set(path, scope);
    this.#expected.set(scope, new Set(outputs));
  }

  /** Sets the values of an output in every scope that a checkpoint says had them. To be called in the order of `seq`. */
  restore({ path, patch }: Patch, source: Source): void {
    if (path.length === 0) this.set({ path, patch }, source);
    for (const [scopePath, scope] of this.#inner) {
      if (!this.#expected.get(scope)?.has(source.seq)) continue;
      this.#put(scope, patch, source);
      // An output from outside of the iteration is older than the values given to the iteration, and must not replace them.
      if (scopePath !== path) this.#restoreGiven(scope);
    }
  }

  #restoreGiven({ ctx, given, sources }: Scope): void {
    Object.assign(ctx, given);
    for (const key of Object.keys(given)) {
      const source = sources.get(key);
      if (source) this.#unuse(source);
      sources.delete(key);
    }
  }

  #put({ ctx, sources }: Scope, patch: JsonObject, source: Source): void {
    if (source.isOffloaded) this.#hasOffloaded = true;
    for (const key of Object.keys(patch)) {
      ctx[key] = source.isOffloaded ? OFFLOADED : (patch[key] ?? null);
      const before = sources.get(key);
      this.#use(source);
      if (before) this.#unuse(before);
      sources.set(key, source);
    }
  }

  #use(source: Source): void {
    source.uses += 1;
    if (source.uses === 1 && !source.isOffloaded) this.#length += source.length;
  }

  #unuse(source: Source): void {
    source.uses -= 1;
    if (source.uses === 0 && !source.isOffloaded) this.#length -= source.length;
  }

  #scope(path: IterationPath): Scope {
    return this.#inner.get(path) ?? this.#outermost;
  }
}

function createScope(given: JsonObject): Scope {
  return { ctx: { ...given }, given, sources: new Map(), errors: new Map() };
}

function* sourcesOf({ sources, errors }: Scope): Generator<Source> {
  yield* sources.values();
  for (const { source } of errors.values()) yield source;
}

function isWithin(path: IterationPath, outer: IterationPath): boolean {
  return outer.every(({ nodeID, iteration }, depth) => {
    const own = path[depth];
    return own?.nodeID === nodeID && own.iteration === iteration;
  });
}
