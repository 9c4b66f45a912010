import type { JsonObject } from '#shared/json.ts';
import type { IterationPath } from '#shared/workflow/frame.ts';
import type { Source } from './source.ts';

interface Scope {
  readonly ctx: JsonObject;
  /** Values that no output has set: the input of the run, or the item of an iteration. */
  readonly given: JsonObject;
  /** By key: the output that has set its value. */
  readonly sources: Map<string, Source>;
}

/** The scope of an open iteration as JSON, with outputs by the numbers of their rows. */
export interface ScopeSnapshot {
  path: IterationPath;
  given: JsonObject;
  outputs: number[];
}

interface Patch {
  /** Of the frame that has the output. */
  path: IterationPath;
  patch: JsonObject;
}

/** What templates and code call `ctx`: that of the nodes outside of bodies, and one for each open iteration. */
export class Scopes {
  readonly #outermost: Scope;
  /** By the path that the frames of an iteration share. */
  readonly #inner = new Map<IterationPath, Scope>();
  /** Of iterations from a checkpoint: the numbers of the outputs that their `ctx` had. */
  readonly #expected = new WeakMap<Scope, ReadonlySet<number>>();

  constructor(given: JsonObject) {
    this.#outermost = createScope(given);
  }

  of(path: IterationPath): JsonObject {
    return this.#scope(path).ctx;
  }

  /** Opens the scope of an iteration: a copy of that around it, with values of its own. What is set in either does not show in the other. */
  open(path: IterationPath, around: IterationPath, values: JsonObject): void {
    const { ctx, given, sources } = this.#scope(around);
    const inherited = Object.entries(given).filter(([key]) => !sources.has(key));
    const kept = [...sources].filter(([key]) => !Object.hasOwn(values, key));
    this.#inner.set(path, {
      ctx: { ...ctx, ...values },
      given: { ...Object.fromEntries(inherited), ...values },
      sources: new Map(kept),
    });
  }

  /** Forgets the scope of an iteration, and of those in it. */
  close(path: IterationPath): void {
    for (const other of this.#inner.keys()) if (isWithin(other, path)) this.#inner.delete(other);
  }

  /** Sets values from an output. */
  set({ path, patch }: Patch, source: Source): void {
    const { ctx, sources } = this.#scope(path);
    Object.assign(ctx, patch);
    for (const key of Object.keys(patch)) sources.set(key, source);
  }

  /** The outputs that still have a value in a scope. */
  sources(): Source[] {
    return [this.#outermost, ...this.#inner.values()].flatMap(({ sources }) => [...sources.values()]);
  }

  /** The scopes of open iterations. */
  snapshot(): ScopeSnapshot[] {
    return [...this.#inner].map(([path, { given, sources }]) => ({
      path,
      given,
      outputs: [...new Set([...sources.values()].map(({ seq }) => seq))].sort((a, b) => a - b),
    }));
  }

  /** Opens the scope of an iteration from a snapshot, before its outputs are set again. */
  load(path: IterationPath, { given, outputs }: Pick<ScopeSnapshot, 'given' | 'outputs'>): void {
    const scope = createScope(given);
    this.#inner.set(path, scope);
    this.#expected.set(scope, new Set(outputs));
  }

  /** Sets the values of an output again in every scope that had them, in the order of `seq`. */
  setAgain({ path, patch }: Patch, source: Source): void {
    if (path.length === 0) this.set({ path, patch }, source);
    for (const [own, scope] of this.#inner) {
      if (!this.#expected.get(scope)?.has(source.seq)) continue;
      Object.assign(scope.ctx, patch);
      for (const key of Object.keys(patch)) scope.sources.set(key, source);
      // An output from around the iteration is older than the values given to it.
      if (own !== path) this.#giveAgain(scope);
    }
  }

  #giveAgain({ ctx, given, sources }: Scope): void {
    Object.assign(ctx, given);
    for (const key of Object.keys(given)) sources.delete(key);
  }

  #scope(path: IterationPath): Scope {
    return this.#inner.get(path) ?? this.#outermost;
  }
}

function createScope(given: JsonObject): Scope {
  return { ctx: { ...given }, given, sources: new Map() };
}

function isWithin(path: IterationPath, outer: IterationPath): boolean {
  return outer.every(({ nodeID, iteration }, depth) => {
    const own = path[depth];
    return own?.nodeID === nodeID && own.iteration === iteration;
  });
}
