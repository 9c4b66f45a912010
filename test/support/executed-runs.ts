import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import { AppError } from '#shared/core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '#shared/core/json.ts';
import { createLogger } from '#shared/core/logger.ts';
import type { RunEventPayload } from '#shared/messaging/realtime/run-events.ts';
import type { Graph } from '#shared/workflow/graph/graph.ts';
import { nodePolicy, WorkflowOptions } from '#shared/workflow/options.ts';
import { pathKey } from '#shared/workflow/progress/iteration-path.ts';
import type { Activation } from '#shared/workflow/progress/progress.ts';
import { resolveConfig } from '#shared/workflow/resolve-config.ts';
import type { NodeResult, Transition } from '#workers/engine/execute/node-result.ts';
import { reduce } from '#workers/engine/execute/reducer.ts';
import { createTask } from '#workers/engine/execute/task.ts';
import { versionOfChunk } from '#workers/engine/maps/read-chunk.ts';
import type { EventRow, Past } from '#workers/engine/restore/past.ts';
import { replayAll } from '#workers/engine/restore/restore.ts';
import type { Chunk } from '#workers/engine/state/chunk.ts';
import { Results } from '#workers/engine/state/iterations.ts';
import { briefOf, LARGE_LENGTH } from '#workers/engine/state/large-outputs.ts';
import type { PendingEvent } from '#workers/engine/state/pending-commit.ts';
import { Run } from '#workers/engine/state/run.ts';
import type { Source } from '#workers/engine/state/source.ts';
import { readKeys, readScope, readScopeOfBody } from '#workers/engine/values/read-values.ts';
import type { Park, WaitResult } from '#workers/nodes/executor.ts';
import { executorOf } from '#workers/nodes/index.ts';

export interface ExecutedDrawing {
  graph: Graph;
  /** Nodes that fail in one of so many activations; 0: never. */
  failing: Map<string, number>;
  /** Nodes whose wait ends without what they wait for. */
  late?: ReadonlySet<string>;
}

const limits = { nodeOutputMaxBytes: 1e6, runOutputMaxBytes: 1e9, largeLength: LARGE_LENGTH };

/** `offloaded`: every output leaves the memory of its run, as large ones do. */
export type Keeping = 'with the run' | 'offloaded';

/** A mishap of the worker at a step: none, it loses an outcome that is not committed, or another goes on with the run. */
export type Mishap = 'none' | 'loses' | 'replaced' | 'replaced with a checkpoint';

/** A run, or a chunk of a map, that executes activations in any order, and is restored from its rows in between. */
export class Execution {
  readonly rows: EventRow[] = [];
  /** Outcomes in the chunks of its maps. */
  readonly #inChunks: string[] = [];
  #run: Run;
  #ready: Activation[];
  /** Activations that wait, by their names: the rows of the waits. */
  readonly #waiting = new Map<string, Waiting>();
  /** The wait of the outcome that is written next. */
  #parking: Waiting | null = null;
  readonly #drawing: ExecutedDrawing;
  #checkpoint: Past['checkpoint'] = null;
  #checkpointSeq = 0;

  readonly #chunk: Chunk | null;
  readonly #keeping: Keeping;
  /** Payloads without the output, by the numbers of their rows. */
  readonly #briefs = new Map<number, RunEventPayload>();

  constructor(drawing: ExecutedDrawing, chunk: Chunk | null = null, keeping: Keeping = 'with the run') {
    this.#drawing = drawing;
    this.#chunk = chunk;
    this.#keeping = keeping;
    this.#run = createRun(drawing.graph, chunk);
    this.#ready = [...this.#run.state.begin()];
  }

  /** The output of a run that has completed. */
  output: Json = null;

  get status(): string {
    return this.#run.isOver ? 'FAILED' : this.#run.state.isFinished ? 'COMPLETED' : 'RUNNING';
  }

  /** Outcomes of all activations, in no order. */
  get outcomes(): string[] {
    return this.rows
      .filter(({ status, payload }) => isOutcome(status) || (status === 'FAILED' && payload))
      .map(({ node_id, frame, status, exit, payload }) => JSON.stringify([node_id, frame, status, exit, payload]))
      .concat(this.#inChunks)
      .map((text) => text.replaceAll(/"completedAt":"[^"]*"/g, ''))
      .sort();
  }

  /** Executes the run to its end, with picks and mishaps in turn. */
  async finish(order: readonly number[], mishaps: readonly Mishap[] = ['none']): Promise<this> {
    for (let at = 0; ; at += 1) {
      if (at > 5_000) throw new Error('The run does not end');
      const mishap = mishaps[at % mishaps.length] ?? 'none';
      if (!(await this.step(order[at % order.length] ?? 0, { loses: mishap === 'loses', order, mishaps }))) return this;
      if (mishap !== 'none') this.restore({ saves: mishap === 'replaced with a checkpoint' });
    }
  }

  /**
   * Executes one activation that is ready or whose wait is over; false if there is none. What needs no row is lost with the worker, so the
   * next activation follows at once. `loses`: the outcome is not written.
   */
  async step(pick: number, { loses = false, order = [0], mishaps = ['none'] }: Stepping = {}): Promise<boolean> {
    const waiting = [...this.#waiting];
    const at = pick % Math.max(1, this.#ready.length + waiting.length);
    if (this.#run.isOver || this.#ready.length + waiting.length === 0) return false;
    const [name, wait] = waiting[at - this.#ready.length] ?? [];
    if (name !== undefined && wait) {
      const activation = this.#run.state.find(wait.nodeID, wait.key) ?? expect.fail(`there is no activation ${name}`);
      const transition = await this.#execute(
        activation,
        await this.#waitResultAfter(activation, wait.park, { order, mishaps }),
      );
      if (!loses) this.#apply(transition);
      if (!loses) this.#waiting.delete(name);
      return true;
    }
    const [activation] = this.#ready.splice(at, 1);
    if (!activation) return false;
    const { phase } = this.#run.state.repetitionOf(activation) ?? {};
    if (phase === 'between') {
      this.#ready.push(...this.#run.state.beginNext(activation));
      return this.step(this.#ready.length - 1, { loses, order, mishaps });
    }
    const transition = await this.#execute(activation, undefined);
    if (!loses) this.#apply(transition);
    return true;
  }

  async #execute(activation: Activation, given: WaitResult | AppError | undefined): Promise<Transition> {
    this.#parking = null;
    const result = await this.#resultOf(activation, given);
    const transition = reduce(this.#limits, this.#run, activation, result);
    if (result.kind === 'chunk done') this.#run.rest();
    return transition;
  }

  async #resultOf(activation: Activation, given: WaitResult | AppError | undefined): Promise<NodeResult> {
    const run = this.#run;
    const { node, path } = activation;
    if (node.isDisabled) return { kind: 'skipped' };
    let resolved: unknown = node.config;
    try {
      if (given instanceof AppError) throw given;
      if (this.#chunk && path.length === 0) return this.#goOnWithChunk(activation, this.#chunk);
      const scope = await readScope(this.#reading, run, { activation, waiting });
      resolved = resolveConfig(node, scope);
      const task = createTask(run, activation, given ?? this.#resultsOf(activation), silent).with(resolved);
      if (node.definition.kind === 'javascript')
        return { kind: 'done', task, resolved, ...(await this.#work(activation)) };
      task.scope = scope;
      // No kind that a drawing has needs the process around it.
      const result = await executorOf(node.definition)(task, {} as never);
      if (!('park' in result)) return { kind: 'done', task, resolved, ...result };
      if (result.park === 'iterations') {
        const { park: _, ...repeat } = result;
        return { kind: 'repeats', task, resolved, repeat };
      }
      if (result.park === 'chunks' && result.items.length === 0)
        return this.#resultOf(activation, { kind: 'iterations', results: [], total: 0, failed: 0 });
      this.#parking = { nodeID: node.id, key: pathKey(path), park: result };
      return {
        kind: 'parks',
        parked: {
          event: { status: 'SUSPENDED', exit: null, payload: null },
          wait: { kind: 'time', purpose: 'park', ms: null },
        },
      };
    } catch (error) {
      return { kind: 'failed', resolved, error: error as AppError };
    }
  }

  /** In place of code, which would need the sandbox. */
  async #work(activation: Activation): Promise<{ output: JsonObject; exit: string }> {
    const { node, path } = activation;
    const every = this.#drawing.failing.get(node.id) ?? 0;
    const hash = path.reduce((sum, { iteration }) => sum * 7 + iteration + 1, node.index);
    if (every > 0 && hash % every === 0)
      throw new AppError('NODE_FAILED', `${node.id} ${pathKey(path)}`, { retry: false });
    return { output: { [node.id]: await this.#seenBy(activation) }, exit: 'success' };
  }

  /** The result of a wait. */
  async #waitResultAfter(
    activation: Activation,
    park: Park,
    stepping: Required<Omit<Stepping, 'loses'>>,
  ): Promise<WaitResult | AppError> {
    const isLate = this.#drawing.late?.has(activation.node.id) ?? false;
    switch (park.park) {
      case 'time':
        return { kind: 'time', ms: park.ms };
      case 'input':
        return { kind: 'input', submission: isLate ? null : { decision: 'approve', answer: activation.path.length } };
      case 'event':
        return {
          kind: 'event',
          event: isLate ? null : { id: 'e', data: { paid: activation.path.length }, sentAt: 'now' },
        };
      case 'child': {
        const error = { code: 'NODE_FAILED', message: 'no luck', nodeID: 'a' };
        const ended = { kind: 'child' as const, instanceID: nameOf(activation), output: park.input };
        return isLate ? { ...ended, status: 'FAILED', error } : { ...ended, status: 'COMPLETED', error: null };
      }
      case 'chunks':
        return this.#workOff(activation, park, stepping);
      default:
        throw new Error('Iterations do not wait');
    }
  }

  /** Works off the items of a map in chunks, each a run of its own. */
  async #workOff(
    { node, path }: Activation,
    { park: _, items, ...plan }: Extract<Park, { park: 'chunks' }>,
    { order, mishaps }: Required<Omit<Stepping, 'loses'>>,
  ): Promise<WaitResult | AppError> {
    const activation = this.#run.state.find(node.id, pathKey(path)) ?? expect.fail('a map without an activation');
    const scope = await readScopeOfBody(this.#reading, this.#run, { activation, waiting });
    const outputs: { results: Json[]; failed: number }[] = [];
    const outcomes: string[] = [];
    const size = plan.chunkSize ?? items.length;
    for (let first = 0; first < items.length; first += size) {
      const around = { mapID: 'm', nodeID: node.id, scope, scopeLength: 0 };
      const own = { ...around, first, items: items.slice(first, first + size), plan };
      const chunk = await new Execution(this.#drawing, own, this.#keeping).finish(order, mishaps);
      if (chunk.status === 'FAILED') return new AppError('NODE_FAILED', 'an item has failed', { retry: false });
      // The output of a chunk: see `completeChunk`.
      outputs.push(chunk.output as unknown as (typeof outputs)[number]);
      outcomes.push(...chunk.outcomes.map((outcome) => `${node.id} ${pathKey(path)} ${first} ${outcome}`));
    }
    this.#inChunks.push(...outcomes.filter((outcome) => !this.#inChunks.includes(outcome)));
    const failed = outputs.reduce((sum, output) => sum + output.failed, 0);
    return { kind: 'iterations', results: outputs.flatMap(({ results }) => results), total: items.length, failed };
  }

  #goOnWithChunk(activation: Activation, chunk: Chunk): NodeResult {
    const run = this.#run;
    if (!run.state.repetitionOf(activation)) return { kind: 'chunk begins', chunk };
    const items = this.#resultsOf(activation) ?? expect.fail('a chunk goes on without its items');
    return { kind: 'chunk done', items, task: createTask(run, activation, undefined, silent) };
  }

  /** The item, and the values of the nodes before the activation. */
  async #seenBy(activation: Activation): Promise<string> {
    const { edges, nodes } = this.#run.version.graph;
    const before = activation.node.incoming.map((edge) => nodes[edges[edge]?.source ?? -1]?.id ?? '');
    const all = await readKeys(this.#reading, this.#run, { activation, waiting, keys: new Set(before) });
    const { item = null, index = null, ...scope } = all;
    const values = before.map((id) => JSON.stringify(scope[id] ?? null));
    return `${activation.node.id} ${item} ${index} ${createHash('sha1').update(values.join()).digest('hex')}`;
  }

  get #limits() {
    return this.#keeping === 'offloaded' ? { ...limits, largeLength: 0 } : limits;
  }

  /** Reads values from the rows here. */
  get #reading() {
    const query = async ({ values: [, seq, name] }: { values: [string, number, string] }) => {
      const output = this.rows.find((row) => row.seq === seq)?.payload?.output;
      return { rows: [{ value: isJsonObject(output) && name in output ? JSON.stringify(output[name]) : null }] };
    };
    const keep = (_: Run, source: Source): void => {
      source.value = undefined;
    };
    // The pool is used for queries alone; values that were read are not kept for the next node.
    return { pool: { query }, values: { retain: keep } } as never;
  }

  /** As `readIterations`, from the rows here. */
  #resultsOf(activation: Activation): Extract<WaitResult, { kind: 'iterations' }> | undefined {
    const repetition = this.#run.state.repetitionOf(activation);
    if (!repetition) return undefined;
    const { failure, phase, source } = repetition;
    if (phase === 'failed' && failure) throw new AppError('NODE_FAILED', failure.message, { retry: false });
    const results = new Results(this.#run.version.graph);
    for (const { seq, node_id, frame: path, exit, payload, status } of this.rows) {
      if (
        seq <= source.seq ||
        path?.length !== activation.path.length + 1 ||
        path.at(-1)?.nodeID !== activation.node.id
      )
        continue;
      if (pathKey(path.slice(0, -1)) !== pathKey(activation.path) || status === 'SUSPENDED') continue;
      const { output = null, error = null, failsItem: fails_item = false } = payload ?? {};
      results.add({ seq, node_id, frame: path, status, exit, output: output as null, error, fails_item });
    }
    return results.waitResult(repetition);
  }

  #apply(transition: Transition): void {
    if (this.#parking) this.#waiting.set(`${this.#parking.nodeID} ${this.#parking.key}`, this.#parking);
    const pending = this.#run.takePending();
    if (this.#run.state.isFinished) this.output = pending.end?.output ?? this.#run.state.end.output;
    for (const event of pending.events) if (event.activation) this.#write(event, event.activation);
    if (transition && 'next' in transition) this.#ready.push(...transition.next);
  }

  #write({ attempt, status, exit, payload, source }: PendingEvent, { node, path }: Activation): void {
    const seq = this.rows.length + 1;
    const parsed = payload === null ? null : (JSON.parse(payload) as RunEventPayload);
    this.rows.push({ seq, node_id: node.id, frame: path, attempt, status, exit, payload: parsed, started: null });
    const brief = briefOf({ payload, ...(source && { source }) });
    if (brief) this.#briefs.set(seq, JSON.parse(brief));
    if (!source) return;
    source.seq = seq;
    if (source.large) this.#run.state.offload(source);
    source.value = undefined;
  }

  /** As another worker would find it, with or without a checkpoint of this moment. */
  restore({ saves }: { saves: boolean }): void {
    if (this.#run.isOver) return;
    if (saves) {
      this.#checkpoint = JSON.parse(JSON.stringify(this.#run.state.checkpoint({ retrying: [], isPaused: false })));
      this.#checkpointSeq = this.rows.length;
    }
    const seq = this.#checkpointSeq;
    const events = this.rows
      .filter((row) => row.seq > seq || this.#checkpoint?.outputs.includes(row.seq))
      .map((row) => ({ ...row, payload: this.#briefs.get(row.seq) ?? row.payload }));
    this.#run = createRun(this.#drawing.graph, this.#chunk);
    const { open } = replayAll(this.#run, { checkpoint: this.#checkpoint, seq, events });
    for (const activation of open) if (this.#waiting.has(nameOf(activation))) open.delete(activation);
    this.#ready = [...open];
    const again: unknown = JSON.parse(JSON.stringify(this.#run.state.checkpoint({ retrying: [], isPaused: false })));
    if (saves) expect(again).toEqual(this.#checkpoint);
  }
}

interface Waiting {
  nodeID: string;
  key: string;
  park: Park;
}

interface Stepping {
  loses?: boolean;
  /** For the chunks of its maps. */
  order?: readonly number[];
  mishaps?: readonly Mishap[];
}

const silent = createLogger({ level: 'silent' });
const waiting = { logger: silent };

function isOutcome(status: string): boolean {
  return status === 'SUCCESS' || status === 'SKIPPED';
}

function nameOf({ node, path }: Activation): string {
  return `${node.id} ${pathKey(path)}`;
}

function createRun(compiled: Graph, chunk: Chunk | null): Run {
  const caller = { type: 'system', id: 'x', origin: 'direct' } as const;
  const options = WorkflowOptions.parse({});
  const policies = compiled.nodes.map((node) => nodePolicy(node, options));
  const version = { creatorID: 'c', author: null, graph: compiled, options, policies };
  const ids = { id: 'r', tenant_id: 't', workflow_id: null, version_id: 'v', parent_id: null, map_id: null };
  const row = {
    ...ids,
    epoch: 1,
    seq: 0,
    wake_seq: 0,
    losses: 0,
    depth: 0,
    deadline_at: new Date(),
    caller,
    input: {},
    test_mode: null,
    held_length: null,
  };
  return chunk ? new Run(row, versionOfChunk(version, chunk), chunk) : new Run(row, version);
}
