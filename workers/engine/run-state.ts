import { isJsonObject, type Json, type JsonObject } from '#shared/json.ts';
import { contextPatch } from '#shared/workflow/arguments.ts';
import { begin, createProgress, type Graph, type GraphNode, isFinished, settle } from '#shared/workflow/graph.ts';
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
  readonly #graph: Graph;
  readonly #progress;
  readonly #scope: JsonObject;
  readonly #attempts = new Map<GraphNode, number>();
  readonly #failures = new Map<GraphNode, number>();
  readonly #result = emptyResult();
  #outputLength = 0;

  constructor(graph: Graph, input: JsonObject) {
    this.#graph = graph;
    this.#progress = createProgress(graph);
    this.#scope = { input };
  }

  /** What templates and code call `ctx`. */
  get scope(): JsonObject {
    return this.#scope;
  }

  /** Whether every branch has ended. */
  get isFinished(): boolean {
    return isFinished(this.#graph, this.#progress);
  }

  get end(): NonNullable<Step['end']> {
    return endOf(this.#result);
  }

  /** The number of the node's latest attempt, 0 before the first. */
  attemptsOf(node: GraphNode): number {
    return this.#attempts.get(node) ?? 0;
  }

  countAttempt(node: GraphNode): void {
    this.#attempts.set(node, this.attemptsOf(node) + 1);
  }

  /** Counts a failed attempt. Returns how many there were. */
  countFailure(node: GraphNode): number {
    const failures = (this.#failures.get(node) ?? 0) + 1;
    this.#failures.set(node, failures);
    return failures;
  }

  /** Counts the length of an output. Returns that of all outputs. */
  countOutput(length: number): number {
    this.#outputLength += length;
    return this.#outputLength;
  }

  /** Makes the first node ready. */
  begin(): readonly GraphNode[] {
    return this.#nodes(begin(this.#graph, this.#progress));
  }

  /** Takes a node's output into `ctx`, and into the result if the node is an end. */
  keep(node: GraphNode, config: unknown, output: JsonObject): void {
    const patch = contextPatch(node, config, output);
    if (patch) Object.assign(this.#scope, patch);
    if (node.definition.ends) addEnd(this.#result, node.id, output);
  }

  /** Leaves a node by an exit. Returns the nodes that become ready. */
  settle(node: GraphNode, exit: string | null): readonly GraphNode[] {
    return this.#nodes(settle(this.#graph, this.#progress, node.index, exit));
  }

  /** Takes an event of an earlier holder. Returns the nodes that it made ready; undefined if it does not settle its node. */
  replay(node: GraphNode, { attempt, status, exit, output }: PastEvent): readonly GraphNode[] | undefined {
    this.#attempts.set(node, Math.max(this.attemptsOf(node), attempt));
    if (status === 'FAILED') this.countFailure(node);
    // A handled failure left by an exit; a failure that is retried, or that ended the run, did not.
    const isSettled = status === 'SUCCESS' || status === 'SKIPPED' || (status === 'FAILED' && exit !== null);
    if (!isSettled) return undefined;
    if (isJsonObject(output)) {
      this.countOutput(JSON.stringify(output).length);
      this.keep(node, node.config, output);
    }
    return this.settle(node, exit);
  }

  #nodes(indices: readonly number[]): GraphNode[] {
    return indices.flatMap((index) => this.#graph.nodes[index] ?? []);
  }
}
