import { isJsonObject, type Json, type JsonObject } from '#shared/json.ts';
import { contextPatch } from '#shared/workflow/arguments.ts';
import { pathKey } from '#shared/workflow/frame.ts';
import type { Graph, GraphNode } from '#shared/workflow/graph.ts';
import { type Frame, type PassSnapshot, Progress } from '#shared/workflow/progress.ts';
import { addEnd, emptyResult, endOf } from './result.ts';
import { type ScopeSnapshot, Scopes } from './scopes.ts';
import type { Source } from './source.ts';
import type { Step } from './step.ts';

/** An event of an earlier holder of the run. */
export interface PastEvent {
  attempt: number;
  status: string;
  exit: string | null;
  output: Json | undefined;
  /** The number of its row. */
  seq: number;
}

export const CHECKPOINT_VERSION = 1;

/** The state of a run as JSON, with outputs by the numbers of their rows. Another version of the engine ignores what it does not know. */
export interface Checkpoint {
  version: typeof CHECKPOINT_VERSION;
  passes: PassSnapshot[];
  /** Of frames that are not settled. */
  attempts: [nodeID: string, path: string, attempts: number, failures: number][];
  /** Rows whose outputs are still a part of `ctx` or of the result. */
  outputs: number[];
  outputLength: number;
  /** Frames whose wait ends with another attempt. */
  retrying: [nodeID: string, path: string][];
  /** Of open iterations, each after the one around it; absent in those of older versions, which know none. */
  scopes?: ScopeSnapshot[];
}

/** What a run has done so far: its place in the graph, `ctx`, attempts, and the result of its ends. Follows from its events. */
export class RunState {
  readonly #graph: Graph;
  readonly #progress: Progress;
  readonly #scopes: Scopes;
  readonly #attempts = new Map<Frame, number>();
  readonly #failures = new Map<Frame, number>();
  readonly #result = emptyResult();
  readonly #ends: Source[] = [];
  #outputLength = 0;

  constructor(graph: Graph, input: JsonObject) {
    this.#graph = graph;
    this.#progress = new Progress(graph);
    this.#scopes = new Scopes({ input });
  }

  /** What templates and code call `ctx`. An iteration has its own, which begins as a copy of that around it. */
  scopeOf({ path }: Frame): JsonObject {
    return this.#scopes.of(path);
  }

  /** Whether every branch has ended. */
  get isFinished(): boolean {
    return this.#progress.isFinished;
  }

  get end(): NonNullable<Step['end']> {
    return endOf(this.#result);
  }

  /** The number of the node's latest attempt, 0 before the first. */
  attemptsOf(frame: Frame): number {
    return this.#attempts.get(frame) ?? 0;
  }

  countAttempt(frame: Frame): void {
    this.#attempts.set(frame, this.attemptsOf(frame) + 1);
  }

  /** Counts a failed attempt. Returns how many there were. */
  countFailure(frame: Frame): number {
    const failures = (this.#failures.get(frame) ?? 0) + 1;
    this.#failures.set(frame, failures);
    return failures;
  }

  /** The length of all outputs together. */
  get outputLength(): number {
    return this.#outputLength;
  }

  /** Counts the length of an output that is kept; one that is refused takes no room. */
  countOutput(length: number): void {
    this.#outputLength += length;
  }

  /** The frame of a node by the key of its path. */
  find(nodeID: string, key: string): Frame | undefined {
    return this.#progress.find(nodeID, key);
  }

  /** Makes the first node ready. */
  begin(): readonly Frame[] {
    return this.#progress.begin();
  }

  /** Takes the output of a frame into its `ctx`, and into the result if the node is an end. Returns its source, for the event. */
  keep(frame: Frame, config: unknown, output: JsonObject): Source {
    const { node, path } = frame;
    const source = { seq: 0 };
    const patch = contextPatch(node, config, output);
    if (patch) this.#scopes.set({ path, patch }, source);
    this.#keepEnd(node, output, source);
    return source;
  }

  /**
   * Takes an output that a checkpoint refers to into every `ctx` that had it, and into the result. To be called in the order of `seq`.
   * The iteration of an end may be over.
   */
  keepAgain({ nodeID, path }: { nodeID: string; path: string }, output: JsonObject, source: Source): void {
    const node = this.#graph.nodes[this.#graph.indexOf.get(nodeID) ?? -1];
    if (!node) return;
    const frame = this.find(nodeID, path);
    const patch = contextPatch(node, node.config, output);
    if (frame && patch) this.#scopes.setAgain({ path: frame.path, patch }, source);
    this.#keepEnd(node, output, source);
  }

  #keepEnd(node: GraphNode, output: JsonObject, source: Source): void {
    if (!node.definition.ends) return;
    addEnd(this.#result, node.id, output);
    this.#ends.push(source);
  }

  /**
   * Begins an iteration of a ready node's body. Its `ctx` is a copy of that around the node, with further values. Returns the frames
   * that become ready; none if the iteration has begun before.
   */
  open(frame: Frame, iteration: number, values: JsonObject): readonly Frame[] {
    const ready = this.#progress.enter(frame, iteration);
    const [first] = ready;
    if (first) this.#scopes.open(first.path, frame.path, values);
    return ready;
  }

  /** Whether every branch of an iteration has ended. */
  isOver(frame: Frame, iteration: number): boolean {
    return this.#progress.isOver(frame, iteration);
  }

  /** Forgets an iteration with its `ctx`: nothing that its nodes have set shows outside. */
  close(frame: Frame, iteration: number): void {
    const path = this.#progress.leave(frame, iteration);
    if (path) this.#scopes.close(path);
  }

  /** The state with the frames that wait for a retry. */
  checkpoint(retrying: readonly Frame[]): Checkpoint {
    const frames = new Set([...this.#attempts.keys(), ...this.#failures.keys()]);
    const sources = new Set([...this.#scopes.sources(), ...this.#ends]);
    const scopes = this.#scopes.snapshot();
    return {
      version: CHECKPOINT_VERSION,
      passes: this.#progress.snapshot(),
      attempts: [...frames].map((frame) => [
        frame.node.id,
        pathKey(frame.path),
        this.attemptsOf(frame),
        this.#failures.get(frame) ?? 0,
      ]),
      outputs: [...sources].map(({ seq }) => seq).sort((a, b) => a - b),
      outputLength: this.#outputLength,
      retrying: retrying.map(({ node, path }) => [node.id, pathKey(path)]),
      ...(scopes.length > 0 && { scopes }),
    };
  }

  /** Goes on from a checkpoint, in place of `begin`, before its outputs are kept again. Returns the frames that are ready. */
  load({ passes, attempts, outputLength, scopes = [] }: Checkpoint): readonly Frame[] {
    const ready = this.#progress.load(passes);
    for (const { path, ...scope } of scopes) this.#scopes.load(this.#progress.enterAll(path), scope);
    for (const [nodeID, path, attempt, failures] of attempts) {
      const frame = this.find(nodeID, path);
      if (!frame) continue;
      this.#attempts.set(frame, attempt);
      if (failures > 0) this.#failures.set(frame, failures);
    }
    this.#outputLength = outputLength;
    return ready;
  }

  /** Leaves a frame by an exit. Returns the frames that become ready. */
  settle(frame: Frame, exit: string | null): readonly Frame[] {
    this.#attempts.delete(frame);
    this.#failures.delete(frame);
    return this.#progress.settle(frame, exit);
  }

  /** Takes an event of an earlier holder. Returns the frames that it made ready; undefined if it does not settle its frame. */
  replay(frame: Frame, { attempt, status, exit, output, seq }: PastEvent): readonly Frame[] | undefined {
    this.#attempts.set(frame, Math.max(this.attemptsOf(frame), attempt));
    if (status === 'FAILED') this.countFailure(frame);
    // A handled failure left by an exit; a failure that is retried, or that ended the run, did not.
    const isSettled = status === 'SUCCESS' || status === 'SKIPPED' || (status === 'FAILED' && exit !== null);
    if (!isSettled) return undefined;
    if (isJsonObject(output)) {
      this.countOutput(JSON.stringify(output).length);
      this.keep(frame, frame.node.config, output).seq = seq;
    }
    return this.settle(frame, exit);
  }
}
