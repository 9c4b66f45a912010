import { isJsonObject, type Json, type JsonObject } from '#shared/json.ts';
import { contextPatch } from '#shared/workflow/arguments.ts';
import type { IterationPath } from '#shared/workflow/frame.ts';
import type { Graph } from '#shared/workflow/graph.ts';
import { type Frame, Progress } from '#shared/workflow/progress.ts';
import { addEnd, emptyResult, endOf } from './result.ts';
import type { Step } from './step.ts';

/** An event of an earlier holder of the run. */
export interface PastEvent {
  attempt: number;
  status: string;
  exit: string | null;
  output: Json | undefined;
}

/** What a run has done so far: its place in the graph, `ctx`, attempts, and the result of its ends. Follows from its events. */
export class RunState {
  readonly #progress: Progress;
  /** By the path that the frames of an iteration share. */
  readonly #scopes = new Map<IterationPath, JsonObject>();
  readonly #scope: JsonObject;
  readonly #attempts = new Map<Frame, number>();
  readonly #failures = new Map<Frame, number>();
  readonly #result = emptyResult();
  #outputLength = 0;

  constructor(graph: Graph, input: JsonObject) {
    this.#progress = new Progress(graph);
    this.#scope = { input };
  }

  /** What templates and code call `ctx`. An iteration has its own, which begins as a copy of that around it. */
  scopeOf({ path }: Frame): JsonObject {
    return this.#scopes.get(path) ?? this.#scope;
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

  /** Takes the output of a frame into its `ctx`, and into the result if the node is an end. */
  keep(frame: Frame, config: unknown, output: JsonObject): void {
    const { node } = frame;
    const patch = contextPatch(node, config, output);
    if (patch) Object.assign(this.scopeOf(frame), patch);
    if (node.definition.ends) addEnd(this.#result, node.id, output);
  }

  /** Leaves a frame by an exit. Returns the frames that become ready. */
  settle(frame: Frame, exit: string | null): readonly Frame[] {
    this.#attempts.delete(frame);
    this.#failures.delete(frame);
    return this.#progress.settle(frame, exit);
  }

  /** Takes an event of an earlier holder. Returns the frames that it made ready; undefined if it does not settle its frame. */
  replay(frame: Frame, { attempt, status, exit, output }: PastEvent): readonly Frame[] | undefined {
    this.#attempts.set(frame, Math.max(this.attemptsOf(frame), attempt));
    if (status === 'FAILED') this.countFailure(frame);
    // A handled failure left by an exit; a failure that is retried, or that ended the run, did not.
    const isSettled = status === 'SUCCESS' || status === 'SKIPPED' || (status === 'FAILED' && exit !== null);
    if (!isSettled) return undefined;
    if (isJsonObject(output)) {
      this.countOutput(JSON.stringify(output).length);
      this.keep(frame, frame.node.config, output);
    }
    return this.settle(frame, exit);
  }
}
