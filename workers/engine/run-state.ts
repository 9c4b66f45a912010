import { isJsonObject, type Json, type JsonObject } from '#shared/json.ts';
import { contextPatch } from '#shared/workflow/arguments.ts';
import { type IterationPath, pathKey } from '#shared/workflow/frame.ts';
import type { Graph } from '#shared/workflow/graph.ts';
import { type Frame, type PassSnapshot, Progress } from '#shared/workflow/progress.ts';
import { addEnd, emptyResult, endOf } from './result.ts';
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
  /** By frame and key of `ctx`: what the value came from. */
  readonly #sources = new Map<string, Source>();
  readonly #ends: Source[] = [];
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

  /** Takes the output of a frame into its `ctx`, and into the result if the node is an end. Returns its source, for the event. */
  keep(frame: Frame, config: unknown, output: JsonObject): Source {
    const { node, path } = frame;
    const source = { seq: 0 };
    const patch = contextPatch(node, config, output);
    if (patch) Object.assign(this.scopeOf(frame), patch);
    for (const key of Object.keys(patch ?? {})) this.#sources.set(`${pathKey(path)} ${key}`, source);
    if (node.definition.ends) {
      addEnd(this.#result, node.id, output);
      this.#ends.push(source);
    }
    return source;
  }

  /** The state with the frames that wait for a retry. */
  checkpoint(retrying: readonly Frame[]): Checkpoint {
    const frames = new Set([...this.#attempts.keys(), ...this.#failures.keys()]);
    const sources = new Set([...this.#sources.values(), ...this.#ends]);
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
    };
  }

  /** Goes on from a checkpoint, in place of `begin`, before its outputs are kept again. Returns the frames that are ready. */
  load({ passes, attempts, outputLength }: Checkpoint): readonly Frame[] {
    const ready = this.#progress.load(passes);
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
