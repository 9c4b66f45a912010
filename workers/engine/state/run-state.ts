import { jsonOf } from '#shared/concurrency/write-json.ts';
import { isJsonObject, type Json, type JsonObject } from '#shared/core/json.ts';
import type { LargeOutput, Repeat } from '#shared/messaging/realtime/run-events.ts';
import type { Graph, GraphNode } from '#shared/workflow/graph/graph.ts';
import { nodesBefore } from '#shared/workflow/graph/nodes-before.ts';
import { type IterationPath, pathKey } from '#shared/workflow/progress/iteration-path.ts';
import { type Activation, Progress } from '#shared/workflow/progress/progress.ts';
import { contextPatch } from '#shared/workflow/resolve-config.ts';
import { ERROR_AROUND_KEY, ERROR_KEY, passedError, type ShownError } from '#shared/workflow/run-error.ts';
import { CHECKPOINT_VERSION, type Checkpoint } from './checkpoint.ts';
import type { Chunk } from './chunk.ts';
import { LARGE_LENGTH, largeOf } from './large-outputs.ts';
import type { PendingCommit } from './pending-commit.ts';
import { addFailure, endIteration, type Repetition, snapshotOf, valuesOf } from './repetitions.ts';
import { addEnd, emptyResult, endOf } from './result.ts';
import { RunLogs } from './run-logs.ts';
import { type Keys, type Missing, Scopes } from './scopes.ts';
import { Source } from './source.ts';

/** An event of an earlier owner of the run. */
export interface PastEvent {
  attempt: number;
  status: string;
  exit: string | null;
  output: Json | undefined;
  /** The description of a large output, which the event has in place of the output. */
  large: LargeOutput | undefined;
  error: ShownError | undefined;
  /** How the activation repeats its body, if it begins to with this event; the items are in the output. */
  repeat: Repeat | undefined;
  /** Whether the failure has failed the item of an iteration: the activation leaves by no exit, and a node around it handles the failure. */
  failsItem: boolean;
  /** The number of the event. */
  seq: number;
}

/**
 * The state of a run: its progress in the graph, `ctx`, attempts, and the result of its end nodes. It follows from the input and the events
 * of the run, so a restore gets it back by replaying them.
 */
export class RunState {
  readonly #graph: Graph;
  readonly #progress: Progress;
  readonly #scopes: Scopes;
  readonly #attempts = new Map<Activation, number>();
  readonly #failures = new Map<Activation, number>();
  readonly #result = emptyResult();
  readonly #repetitions = new Map<Activation, Repetition>();
  readonly #chunk: Pick<Chunk, 'items' | 'first'> | null;
  /** In a chunk of a map, the error that `ctx.error` has at the map node. */
  readonly #errorAround: Json | undefined;
  /** The lines that its nodes have printed. */
  readonly logs = new RunLogs();
  #outputLength = 0;
  /** Length of the input of the run, or in a chunk of a map of its items. */
  readonly #givenLength: number;
  /** Characters of JSON in the outputs of the end nodes that were reached. */
  #endLength = 0;

  /** `chunk`: if the run is a chunk of a map, the scope around the map node, and the items that the run processes. */
  constructor(graph: Graph, input: JsonObject, chunk: Pick<Chunk, 'scope' | 'items' | 'first'> | null = null) {
    const { [ERROR_AROUND_KEY]: errorAround, ...given } = chunk?.scope ?? { input };
    this.#graph = graph;
    this.#progress = new Progress(graph);
    this.#scopes = new Scopes(given);
    this.#errorAround = errorAround;
    this.#givenLength = (chunk ? JSON.stringify(chunk.items) : jsonOf(input)).length;
    this.#chunk = chunk;
  }

  /** The scope that templates and code call `ctx`. An iteration has its own, which begins as a copy of that around it. */
  scopeOf(activation: Activation): JsonObject {
    const ctx = this.#scopes.of(activation.path);
    const error = this.errorBefore(activation);
    return error === undefined ? ctx : { ...ctx, [ERROR_KEY]: error };
  }

  /** The value of `ctx.error`: the latest error of a node on the way to an activation. Undefined if none failed, or a node has set that key. */
  errorBefore({ node, path }: Activation): Json | undefined {
    const hasErrors = this.#scopes.hasErrors(path);
    if ((!hasErrors && this.#errorAround === undefined) || Object.hasOwn(this.#scopes.of(path), ERROR_KEY))
      return undefined;
    return (hasErrors ? this.#scopes.errorOf(path, this.#idsBefore(node)) : undefined) ?? this.#errorAround;
  }

  /** The ids of the nodes on the way to a node. Errors of nodes on other branches are not shown to it. */
  #idsBefore({ index }: GraphNode) {
    const { nodes, edges, indexOf } = this.#graph;
    const sourcesOf = (nodeIndex: number) =>
      (nodes[nodeIndex]?.incoming ?? []).map((edge) => edges[edge]?.source ?? -1);
    const before = nodesBefore(index, { sourcesOf });
    return { has: (nodeID: string) => before.has(indexOf.get(nodeID) ?? -1) };
  }

  /** Values in the `ctx` of an activation that are offloaded, of these keys. */
  missing({ path }: Activation, keys: Keys): Missing[] {
    return this.#scopes.missing(path, keys);
  }

  /** Whether values of some outputs are offloaded. */
  get hasOffloaded(): boolean {
    return this.#scopes.hasOffloaded;
  }

  /** Removes the values of a large output from memory. By now they are in its row. */
  offload(source: Source): void {
    this.#scopes.offload(source);
  }

  /** Length of what only this run has in memory: its input, the outputs in its scopes and its result, and the items of its repetitions. */
  get residentLength(): number {
    let length = this.#givenLength + this.#scopes.length + this.#endLength;
    for (const { source } of this.#repetitions.values()) length += source.length;
    return length;
  }

  /** Length of the outputs of the end nodes that were reached. */
  get endLength(): number {
    return this.#endLength;
  }

  /** Whether every branch has ended. */
  get isFinished(): boolean {
    return this.#progress.isFinished;
  }

  get end(): NonNullable<PendingCommit['end']> {
    return endOf(this.#result);
  }

  /** The number of the node's latest attempt, 0 before the first. */
  attemptsOf(activation: Activation): number {
    return this.#attempts.get(activation) ?? 0;
  }

  countAttempt(activation: Activation): void {
    this.#attempts.set(activation, this.attemptsOf(activation) + 1);
  }

  /** Counts a failed attempt. Returns how many there were. */
  countFailure(activation: Activation): number {
    const failures = (this.#failures.get(activation) ?? 0) + 1;
    this.#failures.set(activation, failures);
    return failures;
  }

  /** The length of all outputs of the run, for its limit. */
  get outputLength(): number {
    return this.#outputLength;
  }

  /** Counts the length of an output that is stored; one that is refused does not count. */
  countOutput(length: number): void {
    this.#outputLength += length;
  }

  /** The activation of a node by the key of its path. */
  find(nodeID: string, key: string): Activation | undefined {
    return this.#progress.find(nodeID, key);
  }

  /** Makes the first node ready. */
  begin(): readonly Activation[] {
    return this.#progress.begin();
  }

  /**
   * Takes the output of an activation into its `ctx`, and into the result if the node is an end. Returns its source, for the event.
   * `length`: of its JSON text; from `largeLength` on its values may be offloaded.
   */
  store(activation: Activation, config: unknown, { output, length, largeLength = LARGE_LENGTH }: SizedOutput): Source {
    const { node, path } = activation;
    const patch = contextPatch(node, config, output);
    const isLarge = length >= largeLength && !node.definition.ends;
    const source = new Source(length, isLarge ? largeOf(config, patch, length) : null);
    if (source.large?.name) source.value = output[source.large.name] ?? null;
    if (patch) this.#scopes.set({ path, patch }, source);
    this.#storeEnd({ node, path }, output, source);
    return source;
  }

  /** Takes the output of a failed activation after which the run goes on, and its error for the nodes after it. Returns the source of both. */
  pass(activation: Activation, config: unknown, { output, error, attempt }: PassedOutcome): Source {
    const { node, path } = activation;
    const passed = passedError(error, { nodeID: node.id, frame: path, attempt });
    const source = this.store(activation, config, { output, length: JSON.stringify(passed).length });
    this.#scopes.pass({ path, nodeID: node.id, error: passed }, source);
    return source;
  }

  /** Restores the items of a repetition from the event that the checkpoint names. */
  restoreRepetition({ nodeID, path }: { nodeID: string; path: string }, output: JsonObject, repeat: Repeat): void {
    const activation = this.find(nodeID, path);
    const repetition = activation && this.#repetitions.get(activation);
    if (repetition) this.#repetitions.set(activation, { ...repetition, repeat, ...this.#itemsOf(activation, output) });
  }

  /**
   * Restores an output that a checkpoint names into every scope that had it, and into the result. To be called in the order of `seq`. If the
   * iteration of the node is over, its activation is not found: only the result of an end node then needs the output. Returns its source.
   */
  restoreOutput({ nodeID, path }: ActivationKey, output: JsonObject, seq: number): Source | undefined {
    const node = this.#graph.nodes[this.#graph.indexOf.get(nodeID) ?? -1];
    if (!node) return undefined;
    const activation = this.find(nodeID, pathKey(path));
    const patch = contextPatch(node, node.config, output);
    const { length } = JSON.stringify(output);
    const isLarge = length >= LARGE_LENGTH && !node.definition.ends;
    const source = new Source(length, isLarge ? largeOf(node.config, patch, length) : null);
    source.seq = seq;
    if (activation && patch) this.#scopes.restore({ path: activation.path, patch }, source);
    this.#storeEnd({ node, path }, output, source);
    this.#offloadRestored(source);
    return source;
  }

  /** Restores the error of a failed activation, whose output was restored before. */
  restorePassed({ nodeID, path }: ActivationKey, { error, attempt }: Failure, source: Source): void {
    const activation = this.find(nodeID, pathKey(path));
    if (!activation) return;
    const passed = passedError(error, { nodeID, frame: activation.path, attempt });
    this.#scopes.restorePassed({ path: activation.path, nodeID, error: passed }, source);
  }

  /** Offloads a large output that was read as a whole: a worker of an earlier version wrote its row without a description. */
  #offloadRestored(source: Source): void {
    if (!source.large) return;
    source.value = undefined;
    this.#scopes.offload(source);
  }

  /** Restores an output by its description only. Its values are read from its row for the nodes that name them. */
  restoreOffloaded({ nodeID, path }: ActivationKey, large: LargeOutput, seq: number): void {
    const activation = this.find(nodeID, pathKey(path));
    if (activation)
      this.#scopes.restore({ path: activation.path, patch: offloadedPatch(large) }, offloadedSource(large, seq));
  }

  #storeEnd({ node, path }: Activation, output: JsonObject, source: Source): void {
    if (!node.definition.ends) return;
    this.#endLength += source.length;
    addEnd(this.#result, output, { nodeID: node.id, path, source });
  }

  /**
   * Begins an iteration of a ready node's body. Its scope is a copy of the scope around the node, and `values`. Returns the activations
   * that become ready; none if the iteration has begun before.
   */
  open(activation: Activation, iteration: number, values: JsonObject): readonly Activation[] {
    const ready = this.#progress.enter(activation, iteration);
    const [first] = ready;
    if (first) this.#scopes.open(first.path, activation.path, values);
    return ready;
  }

  /** Whether every branch of an iteration has ended. */
  isOver(activation: Activation, iteration: number): boolean {
    return this.#progress.isOver(activation, iteration);
  }

  /** Forgets an iteration with its scope: values that its nodes have set do not show outside of it. */
  close(activation: Activation, iteration: number): void {
    const path = this.#progress.leave(activation, iteration);
    if (path) this.#scopes.close(path);
  }

  /** How an activation repeats its body; undefined if it does not. */
  repetitionOf(activation: Activation): Readonly<Repetition> | undefined {
    return this.#repetitions.get(activation);
  }

  /** Activations that repeat their body. */
  get repeating(): Activation[] {
    return [...this.#repetitions.keys()];
  }

  /** The activation that repeats the innermost iteration of a path; undefined outside of bodies. */
  containerOf(path: IterationPath): Activation | undefined {
    const around = path.at(-1);
    return around && this.find(around.nodeID, pathKey(path.slice(0, -1)));
  }

  /**
   * Begins to repeat the body of an activation, once for each item. Returns the activations that become ready, and the source of the items, for
   * the event. If there are no items or there is no body, that is the activation itself: it goes on with an empty list of results.
   */
  repeat(
    activation: Activation,
    { items, repeat, first = 0, length }: Repeated,
  ): { next: readonly Activation[]; source: Source } {
    const source = new Source(length);
    const isEmpty = items.length === 0 || activation.node.body === null;
    const phase = isEmpty ? 'over' : 'between';
    this.#repetitions.set(activation, { repeat, items, first, source, phase, at: first, failure: null, failures: 0 });
    return { next: isEmpty ? [activation] : this.beginNext(activation), source };
  }

  /** Begins the next iteration of an activation that is between two iterations. Returns the activations that become ready in it. */
  beginNext(activation: Activation): readonly Activation[] {
    const repetition = this.#repetitions.get(activation);
    if (repetition?.phase !== 'between') return [];
    repetition.phase = 'open';
    return this.open(activation, repetition.at, valuesOf(repetition, repetition.at));
  }

  /** Begins the innermost iteration of a path, if it is the next one of its repetition. Returns the activations that become ready in it. */
  reach(path: IterationPath): readonly Activation[] {
    const container = this.containerOf(path);
    const repetition = container && this.#repetitions.get(container);
    return container && repetition?.at === path.at(-1)?.iteration ? this.beginNext(container) : [];
  }

  /** Ends an activation whose failure a node around it handles: its item has failed. Returns the activations that become ready. */
  failItem(activation: Activation, error: ShownError): readonly Activation[] {
    const repetition = this.#repetitions.get(this.containerOf(activation.path) ?? activation);
    if (repetition) addFailure(repetition, activation, error);
    this.#forget(activation);
    this.#progress.fail(activation);
    return this.#goOn(activation.path);
  }

  /** Closes the innermost iteration of a path if all its branches have ended. Returns the activations of the next, or else the repeating one. */
  #goOn(path: IterationPath): readonly Activation[] {
    const container = this.containerOf(path);
    const repetition = container && this.#repetitions.get(container);
    if (!repetition || !this.isOver(container, repetition.at)) return [];
    this.close(container, repetition.at);
    return endIteration(repetition) ? this.beginNext(container) : [container];
  }

  /** The state of the run for a later restore. `retrying`: activations that wait for a retry. `isPaused`: no node runs, the run waits. */
  checkpoint({ retrying, isPaused }: { retrying: readonly Activation[]; isPaused: boolean }): Checkpoint {
    const activations = new Set([...this.#attempts.keys(), ...this.#failures.keys()]);
    const repetitions = [...this.#repetitions];
    const itemSources = repetitions.map(([, { source }]) => source);
    const { sources: outputs, statusSource } = this.#result;
    const resultSources = [...outputs.values(), ...(statusSource ? [statusSource] : [])];
    const sources = new Set([...this.#scopes.sources(), ...resultSources, ...itemSources]);
    const scopes = this.#scopes.snapshot();
    const logs = this.logs.snapshot();
    return {
      version: CHECKPOINT_VERSION,
      passes: this.#progress.snapshot(),
      attempts: [...activations].map((activation) => [
        activation.node.id,
        pathKey(activation.path),
        this.attemptsOf(activation),
        this.#failures.get(activation) ?? 0,
      ]),
      outputs: [...sources].map(({ seq }) => seq).sort((a, b) => a - b),
      outputLength: this.#outputLength,
      retrying: retrying.map(({ node, path }) => [node.id, pathKey(path)]),
      ...(isPaused && { isPaused }),
      ...(scopes.length > 0 && { scopes }),
      ...(logs.length > 0 && { logs }),
      ...(repetitions.length > 0 && { repetitions: repetitions.map(snapshotOf) }),
    };
  }

  /** Goes on from a checkpoint, in place of `begin`, before its outputs are restored. Returns the activations that are ready. */
  load({
    passes,
    attempts,
    outputLength,
    scopes = [],
    repetitions = [],
    logs = [],
  }: Checkpoint): readonly Activation[] {
    for (const [nodeID, lines, bytes] of logs) this.logs.count(nodeID, { lines, bytes });
    const ready = this.#progress.load(passes);
    for (const { path, ...scope } of scopes) this.#scopes.load(this.#progress.enterAll(path), scope);
    for (const [nodeID, path, attempt, failures] of attempts) {
      const activation = this.find(nodeID, path);
      if (!activation) continue;
      this.#attempts.set(activation, attempt);
      if (failures > 0) this.#failures.set(activation, failures);
    }
    this.#outputLength = outputLength;
    for (const { nodeID, path, seq, failures = 0, ...progress } of repetitions) {
      const activation = this.find(nodeID, path);
      // The items follow with `restoreRepetition`.
      if (activation)
        this.#repetitions.set(activation, {
          ...progress,
          failures,
          repeat: unknownRepeat,
          items: [],
          first: 0,
          source: sourceAt(seq),
        });
    }
    // An activation with an open iteration goes on when the iteration ends.
    return ready.filter((activation) => this.#repetitions.get(activation)?.phase !== 'open');
  }

  /** Leaves an activation by an exit. Returns the activations that become ready. */
  settle(activation: Activation, exit: string | null): readonly Activation[] {
    this.#forget(activation);
    const next = this.#progress.settle(activation, exit);
    return next.length > 0 ? next : this.#goOn(activation.path);
  }

  #forget(activation: Activation): void {
    this.#attempts.delete(activation);
    this.#failures.delete(activation);
    this.#repetitions.delete(activation);
  }

  /** Applies an event of an earlier owner. Returns the activations that it made ready; undefined if its activation goes on waiting or is retried. */
  replay(activation: Activation, event: PastEvent): readonly Activation[] | undefined {
    const { attempt, status, exit, output, large, error, repeat, failsItem, seq } = event;
    this.#attempts.set(activation, Math.max(this.attemptsOf(activation), attempt));
    if (status === 'FAILED') this.countFailure(activation);
    if (repeat && isJsonObject(output)) {
      const { length } = JSON.stringify(output);
      this.countOutput(length);
      const { next, source } = this.repeat(activation, { ...this.#itemsOf(activation, output), repeat, length });
      source.seq = seq;
      return next;
    }
    if (failsItem && error) return this.failItem(activation, error);
    // A failure that is handled has an exit; one that is retried, or that ended the run, has none.
    const isSettled = status === 'SUCCESS' || status === 'SKIPPED' || (status === 'FAILED' && exit !== null);
    if (!isSettled) return undefined;
    if (large) {
      this.countOutput(large.length);
      this.#scopes.set({ path: activation.path, patch: offloadedPatch(large) }, offloadedSource(large, seq));
    } else if (isJsonObject(output)) {
      const { length } = JSON.stringify(output);
      this.countOutput(length);
      const { config } = activation.node;
      const isPassed = status === 'FAILED' && error !== undefined;
      const source = isPassed
        ? this.pass(activation, config, { output, error, attempt })
        : this.store(activation, config, { output, length });
      source.seq = seq;
      this.#offloadRestored(source);
    }
    return this.settle(activation, exit);
  }

  /** The items of a repetition, from the output of its first event. Items of a chunk are not repeated there: they come from the row of the chunk. */
  #itemsOf({ path }: Activation, { items }: JsonObject): Pick<Repetition, 'items' | 'first'> {
    if (this.#chunk && path.length === 0) return this.#chunk;
    return { items: Array.isArray(items) ? items : [], first: 0 };
  }
}

/** An output with the length of its JSON text. */
export interface SizedOutput {
  output: JsonObject;
  length: number;
  /** Length from which on the values may be offloaded. */
  largeLength?: number | undefined;
}

interface Failure {
  error: ShownError;
  attempt: number;
}

interface PassedOutcome extends Failure {
  output: JsonObject;
}

interface Repeated {
  items: readonly Json[];
  repeat: Repeat;
  first?: number;
  /** Length of the JSON text of the items; 0 in a chunk, which has them in its own row and not in an output. */
  length: number;
}

interface ActivationKey {
  nodeID: string;
  path: IterationPath;
}

function sourceAt(seq: number): Source {
  return Object.assign(new Source(0), { seq });
}

function offloadedSource(large: LargeOutput, seq: number): Source {
  return Object.assign(new Source(large.length, large), { seq, isOffloaded: true });
}

/** The keys of an output whose values are offloaded. */
function offloadedPatch({ keys }: LargeOutput): JsonObject {
  return Object.fromEntries(keys.map((key) => [key, null]));
}

/** Stands in for the settings of a repetition until its event is read. */
const unknownRepeat: Repeat = { itemVariable: 'item', indexVariable: 'index', delayMs: 0, failedItems: 'fail' };
