import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AppError } from '#shared/errors.ts';
import { atOnce } from '#shared/pauses.ts';
import type { Repeat, RunEventPayload } from '#shared/realtime/events.ts';
import { pathKey } from '#shared/workflow/frame.ts';
import { compileGraph, type Graph, WorkflowEdge, WorkflowNode } from '#shared/workflow/graph.ts';
import { nodePolicy, WorkflowOptions } from '#shared/workflow/options.ts';
import type { Frame } from '#shared/workflow/progress.ts';
import { code, graph } from '#test/support/graphs.ts';
import { type Conclusion, failFrame, repeatBody, succeed } from '#workers/engine/conclude.ts';
import { Results } from '#workers/engine/iterations.ts';
import type { EventRow, Past } from '#workers/engine/past.ts';
import { replayAll } from '#workers/engine/restore.ts';
import { Run } from '#workers/engine/run.ts';
import { runLoop } from '#workers/nodes/loop.ts';

/** A part of a workflow: a node, two nodes side by side, or a loop. A node fails in one of `failsIn` frames; 0: never. */
type Item =
  | { kind: 'node'; failsIn: number }
  | { kind: 'pair'; failsIn: number }
  | { kind: 'loop'; times: number; handling: string | null; hasError: boolean; delayMs: number; body: Item[] };

const failsIn = fc.constantFrom(0, 0, 0, 2, 3);
const { items } = fc.letrec<{ items: Item[]; item: Item }>((tie) => ({
  items: fc.array(tie('item'), { minLength: 1, maxLength: 3 }),
  item: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.record({ kind: fc.constant('node' as const), failsIn }),
    fc.record({ kind: fc.constant('pair' as const), failsIn }),
    fc.record({
      kind: fc.constant('loop' as const),
      times: fc.nat(3),
      handling: fc.constantFrom(null, 'fail_workflow', 'continue', 'skip_item'),
      hasError: fc.boolean(),
      delayMs: fc.constantFrom(0, 0, 1000),
      body: tie('items'),
    }),
  ),
}));

interface Drawing {
  graph: Graph;
  failing: Map<string, number>;
}

function draw(all: Item[]): Drawing {
  const nodes: Record<string, { type: string }> = { start: { type: 'start' } };
  const edges: string[] = [];
  const failing = new Map<string, number>();
  append(all, ['start']);
  const shape = graph(nodes, edges);
  return {
    graph: atOnce(compileGraph(WorkflowNode.array().parse(shape.nodes), WorkflowEdge.array().parse(shape.edges))),
    failing,
  };

  function append(list: Item[], heads: string[]): void {
    let open = heads;
    for (const item of list) {
      const own = Array.from({ length: item.kind === 'pair' ? 2 : 1 }, () => add(item));
      for (const target of own) edges.push(...open.map((head) => `${head}>${target}`));
      open = own.map((id) => (item.kind === 'loop' ? `${id}:completed` : `${id}:success`));
      if (item.kind === 'loop') append(item.body, [`${own[0]}:loop`]);
      if (item.kind === 'loop' && item.hasError) edges.push(`${own[0]}:error>${add({ kind: 'node', failsIn: 0 })}`);
    }
  }

  function add(item: Item): string {
    const id = `n${Object.keys(nodes).length}`;
    if (item.kind === 'loop') {
      const sourceVariable = Array.from({ length: item.times }, (_, index) => `${id}.${index}`);
      const { handling, delayMs: delayBetweenItems } = item;
      const more = { sourceVariable, delayBetweenItems, ...(handling && { errorHandling: handling }) };
      nodes[id] = { type: 'loop', outputVariable: id, ...more } as { type: string };
    } else {
      nodes[id] = code('return 1', { outputVariable: id });
      failing.set(id, item.failsIn);
    }
    return id;
  }
}

const limits = { nodeOutputMaxBytes: 1e6, runOutputMaxBytes: 1e9 };

/** A run that executes frames in any order, and is restored from its rows in between. */
class Execution {
  readonly rows: EventRow[] = [];
  #run: Run;
  #ready: Frame[];
  readonly #drawing: Drawing;
  #checkpoint: Past['checkpoint'] = null;
  #checkpointSeq = 0;

  constructor(drawing: Drawing) {
    this.#drawing = drawing;
    this.#run = createRun(drawing.graph);
    this.#ready = [...this.#run.state.begin()];
  }

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
    this.#run = createRun(this.#drawing.graph);
    const { open } = replayAll(this.#run, { checkpoint: this.#checkpoint, seq, events });
    this.#ready = [...open];
    const again: unknown = JSON.parse(JSON.stringify(this.#run.state.checkpoint({ retrying: [], isPaused: false })));
    if (saves) expect(again).toEqual(this.#checkpoint);
  }
}

function createRun(compiled: Graph): Run {
  const caller = { type: 'system', id: 'x', origin: 'direct' } as const;
  const options = WorkflowOptions.parse({});
  const policies = compiled.nodes.map((node) => nodePolicy(node, options));
  const version = { creatorID: 'c', graph: compiled, options, policies };
  const ids = { id: 'r', tenant_id: 't', workflow_id: null, version_id: 'v', parent_id: null };
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
  return new Run(row, version);
}

async function execute(
  drawing: Drawing,
  order: readonly number[],
  restores: readonly number[] = [],
): Promise<Execution> {
  const run = new Execution(drawing);
  for (let at = 0; await run.step(order[at % order.length] ?? 0); at += 1) {
    if (at > 5_000) throw new Error('The run does not end');
    const restore = restores.length > 0 ? restores[at % restores.length] : 0;
    if (restore) run.restore({ saves: restore > 1 });
  }
  return run;
}

const picks = fc.array(fc.nat(), { minLength: 1, maxLength: 40 });
const restores = fc.array(fc.nat(2), { minLength: 1, maxLength: 40 });

test('in any order, and whenever it is restored, a run with loops executes the same frames with the same outcomes', async () => {
  let completed = 0;
  await fc.assert(
    fc.asyncProperty(items, picks, restores, async (list, order, lost) => {
      const drawing = draw(list);
      const inTurn = await execute(drawing, [0]);
      const other = await execute(drawing, order, lost);

      expect(inTurn.status).not.toBe('RUNNING');
      expect(other.status).toBe(inTurn.status);
      // Where the run fails, branches are cut off by it.
      if (inTurn.status === 'COMPLETED') expect(other.outcomes).toEqual(inTurn.outcomes);
      if (inTurn.status === 'COMPLETED') completed += 1;
    }),
    { numRuns: 300, seed: 1 },
  );
  expect(completed).toBeGreaterThan(100);
});
