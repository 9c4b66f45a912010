import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import { AppError } from '#shared/errors.ts';
import type { Json } from '#shared/json.ts';
import type { Repeat, RunEventPayload } from '#shared/realtime/events.ts';
import { pathKey } from '#shared/workflow/frame.ts';
import type { Graph } from '#shared/workflow/graph.ts';
import { nodePolicy, WorkflowOptions } from '#shared/workflow/options.ts';
import type { Frame } from '#shared/workflow/progress.ts';
import type { Chunk } from '#workers/engine/chunk.ts';
import { type Conclusion, failFrame, repeatBody, succeed } from '#workers/engine/conclude.ts';
import { beginChunk, completeChunk } from '#workers/engine/conclude-chunk.ts';
import { Results } from '#workers/engine/iterations.ts';
import type { EventRow, Past } from '#workers/engine/past.ts';
import { versionOfChunk } from '#workers/engine/read-chunk.ts';
import { replayAll } from '#workers/engine/restore.ts';
import { Run } from '#workers/engine/run.ts';
import { runLoop } from '#workers/nodes/loop.ts';

export interface ExecutedDrawing {
  graph: Graph;
  /** By node: it fails in one of so many frames; 0: never. */
  failing: Map<string, number>;
}

const limits = { nodeOutputMaxBytes: 1e6, runOutputMaxBytes: 1e9 };

/** A run, or a chunk of a map, that executes frames in any order, and is restored from its rows in between. */
export class Execution {
  readonly rows: EventRow[] = [];
  #run: Run;
  #ready: Frame[];
  readonly #drawing: ExecutedDrawing;
  #checkpoint: Past['checkpoint'] = null;
  #checkpointSeq = 0;

  readonly #chunk: Chunk | null;

  constructor(drawing: ExecutedDrawing, chunk: Chunk | null = null) {
    this.#drawing = drawing;
    this.#chunk = chunk;
    this.#run = createRun(drawing.graph, chunk);
    this.#ready = [...this.#run.state.begin()];
  }

  /** Of a chunk that has completed. */
  output: Json = null;

  get status(): string {
    return this.#run.isOver ? 'FAILED' : this.#run.state.isFinished ? 'COMPLETED' : 'RUNNING';
  }

  /** What each frame came to, in no order. */
  get outcomes(): string[] {
    return this.rows
      .filter(({ status, payload }) => status === 'SUCCESS' || (status === 'FAILED' && payload))
      .map(({ node_id, frame, status, exit, payload }) => JSON.stringify([node_id, frame, status, exit, payload]))
      .sort();
  }

  /** Executes one ready frame; false if there is none. What needs no row is lost with the worker, so the next frame follows at once. */
  async step(pick: number): Promise<boolean> {
    const [frame] = this.#ready.splice(pick % Math.max(1, this.#ready.length), 1);
    if (!frame || this.#run.isOver) return false;
    const { phase } = this.#run.state.repetitionOf(frame) ?? {};
    if (phase === 'between') {
      this.#ready.push(...this.#run.state.beginNext(frame));
      return this.step(this.#ready.length - 1);
    }
    this.#conclude(await this.#execute(frame));
    return true;
  }

  async #execute(frame: Frame): Promise<Conclusion> {
    const run = this.#run;
    const { node, path } = frame;
    const resolved = node.config;
    try {
      if (this.#chunk && path.length === 0) return this.#goOnWithChunk(frame, this.#chunk);
      if (node.definition.kind !== 'loop') {
        const every = this.#drawing.failing.get(node.id) ?? 0;
        const hash = path.reduce((sum, { iteration }) => sum * 7 + iteration + 1, node.index);
        if (every > 0 && hash % every === 0)
          throw new AppError('NODE_FAILED', `${node.id} ${pathKey(path)}`, { retry: false });
        const output = { [node.id]: this.#seenBy(frame) };
        return succeed(limits, run, frame, { resolved, output, exit: node.definition.begins ? 'output' : 'success' });
      }
      const result = await runLoop({ config: resolved, ...this.#factOf(frame) } as never, {} as never);
      if ('park' in result) return repeatBody(limits, run, frame, result as unknown as Repeat & { items: [] });
      return succeed(limits, run, frame, { resolved, ...result });
    } catch (error) {
      return failFrame(run, frame, { resolved, error: error as AppError });
    }
  }

  #goOnWithChunk(frame: Frame, chunk: Chunk): Conclusion {
    const run = this.#run;
    if (!run.state.repetitionOf(frame)) return beginChunk(run, frame, chunk);
    const { fact } = this.#factOf(frame) as { fact: Parameters<typeof completeChunk>[3] };
    const conclusion = completeChunk(limits, run, frame, fact);
    run.rest();
    return conclusion;
  }

  /** The item, and the values of the nodes before the frame. */
  #seenBy(frame: Frame): string {
    const { edges, nodes } = this.#drawing.graph;
    const before = frame.node.incoming.map((edge) => nodes[edges[edge]?.source ?? -1]?.id ?? '');
    const { item = null, index = null, ...scope } = this.#run.state.scopeOf(frame);
    const values = before.map((id) => JSON.stringify(scope[id] ?? null));
    return `${frame.node.id} ${item} ${index} ${createHash('sha1').update(values.join()).digest('hex')}`;
  }

  /** As `readIterations`, from the rows here. */
  #factOf(frame: Frame): object {
    const repetition = this.#run.state.repetitionOf(frame);
    if (!repetition) return {};
    const { failure, phase, source } = repetition;
    if (phase === 'failed' && failure) throw new AppError('NODE_FAILED', failure.message, { retry: false });
    const results = new Results(this.#drawing.graph);
    for (const { seq, node_id, frame: path, exit, payload, status } of this.rows) {
      if (seq <= source.seq || path?.length !== frame.path.length + 1 || path.at(-1)?.nodeID !== frame.node.id)
        continue;
      if (pathKey(path.slice(0, -1)) !== pathKey(frame.path) || status === 'SUSPENDED') continue;
      const { output = null, error = null, failsItem: fails_item = false } = payload ?? {};
      results.add({ seq, node_id, frame: path, status, exit, output: output as null, error, fails_item });
    }
    return { fact: results.fact(repetition) };
  }

  #conclude(conclusion: Conclusion): void {
    const step = this.#run.takeStep();
    this.output = step.end?.output ?? null;
    for (const { frame, attempt, status, exit, payload, source } of step.events) {
      if (!frame) continue;
      const { node, path } = frame;
      const seq = this.rows.length + 1;
      if (source) source.seq = seq;
      const parsed = payload === null ? null : (JSON.parse(payload) as RunEventPayload);
      this.rows.push({ seq, node_id: node.id, frame: path, attempt, status, exit, payload: parsed, started: null });
    }
    if (conclusion && 'next' in conclusion) this.#ready.push(...conclusion.next);
  }

  /** As another worker would find it, with or without a checkpoint of this moment. */
  restore({ saves }: { saves: boolean }): void {
    if (this.#run.isOver) return;
    if (saves) {
      this.#checkpoint = JSON.parse(JSON.stringify(this.#run.state.checkpoint({ retrying: [], isPaused: false })));
      this.#checkpointSeq = this.rows.length;
    }
    const seq = this.#checkpointSeq;
    const events = this.rows.filter((row) => row.seq > seq || this.#checkpoint?.outputs.includes(row.seq));
    this.#run = createRun(this.#drawing.graph, this.#chunk);
    const { open } = replayAll(this.#run, { checkpoint: this.#checkpoint, seq, events });
    this.#ready = [...open];
    const again: unknown = JSON.parse(JSON.stringify(this.#run.state.checkpoint({ retrying: [], isPaused: false })));
    if (saves) expect(again).toEqual(this.#checkpoint);
  }
}

function createRun(compiled: Graph, chunk: Chunk | null): Run {
  const caller = { type: 'system', id: 'x', origin: 'direct' } as const;
  const options = WorkflowOptions.parse({});
  const policies = compiled.nodes.map((node) => nodePolicy(node, options));
  const version = { creatorID: 'c', graph: compiled, options, policies };
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
  };
  return chunk ? new Run(row, versionOfChunk(version, chunk), chunk) : new Run(row, version);
}
