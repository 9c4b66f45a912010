import type { Json, JsonObject } from '#shared/core/json.ts';
import type { IterationPath } from '#shared/workflow/progress/activation.ts';
import type { Source } from './source.ts';

interface Scope {
  /** Replaced as a whole where values leave it: a node that has begun keeps the object that it began with. */
  ctx: JsonObject;
  /** Values that no output has set: the input of the run, or the item of an iteration. */
  readonly given: JsonObject;
  /** The output that has set its value, by key. */
  readonly sources: Map<string, Source>;
  /** The errors of nodes that failed and were left all the same, by their ids, the latest last. */
  readonly errors: Map<string, PassedError>;
}

/** An error, and the outcome that has it. */
interface PassedError {
  error: JsonObject;
  source: Source;
}

/** The scope of an open iteration as JSON, with outputs by the numbers of their rows. */
export interface ScopeSnapshot {
  path: IterationPath;
  given: JsonObject;
  /** Keys that it has from those given to the outermost scope, as the input of the run, which no checkpoint repeats. */
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

/** Keys of `ctx`; all of them where it is known only later which. */
export type Keys = ReadonlySet<string> | 'all';

/** A value that is not here, by its key. */
export type Missing = readonly [key: string, source: Source];

/** Stands in `ctx` for a value that is read for the nodes that name it. Throws where a node passes it on without. */
const OFFLOADED: Json = Object.freeze({
  toJSON(): never {
    throw new Error('A value that is kept apart was not read');
  },
  // A function is no JSON, which is its purpose.
}) as unknown as Json;

/** The values that are here. */
export function withoutOffloaded(ctx: JsonObject): JsonObject {
  const entries = Object.entries(ctx);
  const here = entries.filter(([, value]) => value !== OFFLOADED);
  return here.length === entries.length ? ctx : Object.fromEntries(here);
}

/** The scopes that templates and code call `ctx`: that of the nodes outside of bodies, and one for each open iteration. */
export class Scopes {
  readonly #outermost: Scope;
  /** The scopes of open iterations, by the path that the activations of an iteration share. */
  readonly #inner = new Map<IterationPath, Scope>();
  /** The numbers of the outputs that the `ctx` of an iteration from a checkpoint had. */
  readonly #expected = new WeakMap<Scope, ReadonlySet<number>>();
  #length = 0;
  #hasOffloaded = false;

  constructor(given: JsonObject) {
    this.#outermost = createScope(given);
  }

  /** Length of the outputs whose values are here. */
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

  /** Opens the scope of an iteration: a copy of that around it, with values of its own. What is set in either does not show in the other. */
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

  /** Forgets the scope of an iteration, and of those in it. */
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

  /** Takes note that a node has failed and is left all the same. */
  pass({ path, nodeID, error }: Passed, source: Source): void {
    this.#pass(this.#scope(path), nodeID, { error, source });
  }

  /** The same in every scope that had the error, in the order of `seq`. */
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

  /** The latest error of these nodes. */
  errorOf(path: IterationPath, nodeIDs: { has(nodeID: string): boolean }): JsonObject | undefined {
    return [...this.#scope(path).errors].findLast(([nodeID]) => nodeIDs.has(nodeID))?.[1].error;
  }

  /** The outcomes that still have a value or an error in a scope. */
  sources(): Source[] {
    return [this.#outermost, ...this.#inner.values()].flatMap((scope) => [...sourcesOf(scope)]);
  }

  /** Removes the values of a large output, which its row has by now. */
  offload(source: Source): void {
    if (source.isOffloaded) return;
    if (source.uses > 0) this.#length -= source.length;
    source.isOffloaded = true;
    if (source.uses === 0) return;
    this.#hasOffloaded = true;
    for (const scope of [this.#outermost, ...this.#inner.values()]) {
      const keys = [...scope.sources].flatMap(([key, own]) => (own === source ? [[key, OFFLOADED] as const] : []));
      if (keys.length > 0) scope.ctx = { ...scope.ctx, ...Object.fromEntries(keys) };
    }
  }

  /** The scopes of open iterations. */
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

  /** Opens the scope of an iteration from a snapshot, before its outputs are set again. */
  load(path: IterationPath, { given, inherited = [], outputs }: Omit<ScopeSnapshot, 'path'>): void {
    const { given: outermost } = this.#outermost;
    const scope = createScope({
      ...Object.fromEntries(inherited.map((key) => [key, outermost[key] ?? null])),
      ...given,
    });
    this.#inner.set(path, scope);
    this.#expected.set(scope, new Set(outputs));
  }

  /** Sets the values of an output again in every scope that had them, in the order of `seq`. */
  restore({ path, patch }: Patch, source: Source): void {
    if (path.length === 0) this.set({ path, patch }, source);
    for (const [own, scope] of this.#inner) {
      if (!this.#expected.get(scope)?.has(source.seq)) continue;
      this.#put(scope, patch, source);
      // An output from around the iteration is older than the values given to it.
      if (own !== path) this.#restoreGiven(scope);
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
