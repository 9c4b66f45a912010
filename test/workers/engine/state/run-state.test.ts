import fc from 'fast-check';
import { expect, test } from 'vitest';
import { atOnce } from '#shared/concurrency/cooperative.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { compileGraph, type GraphNode, WorkflowEdge, WorkflowNode } from '#shared/workflow/graph/graph.ts';
import { pathKey } from '#shared/workflow/progress/activation.ts';
import type { Frame } from '#shared/workflow/progress/progress.ts';
import type { ShownError } from '#shared/workflow/run-error.ts';
import { withBodies } from '#test/support/bodies.ts';
import { AFTER, type Drawing, draw, items } from '#test/support/drawn-loops.ts';
import { code, graph } from '#test/support/graphs.ts';
import type { Checkpoint } from '#workers/engine/state/checkpoint.ts';
import { RunState } from '#workers/engine/state/run-state.ts';

/** An output as its row has it. */
interface Row {
  seq: number;
  nodeID: string;
  path: string;
  output: JsonObject;
  /** Of a node that failed and was left all the same. */
  error?: ShownError;
}

/** What the checkpoint says, as JSON. */
function saved(state: RunState): Checkpoint {
  return JSON.parse(JSON.stringify(state.checkpoint({ retrying: [], isPaused: false })));
}

function restored(drawing: Pick<Drawing, 'graph'>, checkpoint: Checkpoint, rows: readonly Row[]): RunState {
  const state = new RunState(drawing.graph, { from: 'input' });
  state.load(checkpoint);
  for (const { seq, output, nodeID, path, error } of rows) {
    if (!checkpoint.outputs.includes(seq)) continue;
    const source = state.keepAgain({ nodeID, path: pathOf(path) }, output, seq);
    if (source && error) state.passAgain({ nodeID, path: pathOf(path) }, { error, attempt: 1 }, source);
  }
  return state;
}

/** The key has the iterations alone. */
function pathOf(key: string) {
  return key === '' ? [] : key.split('.').map((iteration) => ({ nodeID: '', iteration: Number(iteration) }));
}

/** Executes frames in any order, beside a model of every `ctx`. */
class Execution {
  state: RunState;
  readonly rows: Row[] = [];
  readonly #drawing: Drawing;
  readonly #model = new Map<string, JsonObject>([['', { input: { from: 'input' } }]]);
  /** By the same keys: frames that have failed, with their errors, the latest last. */
  readonly #failed = new Map<string, { frame: Frame; error: JsonObject }[]>([['', []]]);
  /** By name of the loop's frame: iterations begun, and not over. */
  readonly #loops = new Map<string, { begun: number; left: number }>();
  #ready: { nodeID: string; path: string }[] = [];
  #seq = 0;

  constructor(drawing: Drawing) {
    this.#drawing = drawing;
    this.state = new RunState(drawing.graph, { from: 'input' });
    this.#add(this.state.begin());
  }

  /** Executes one ready frame; false if there is none. */
  step(pick: number): boolean {
    for (const one of this.#ready) this.#check(this.#find(one));
    const [place] = this.#ready.splice(pick % Math.max(1, this.#ready.length), 1);
    if (!place) return false;
    const frame = this.#find(place);
    const { times = 0, atOnce = false } = this.#drawing.loops.get(place.nodeID) ?? {};
    this.#loops.set(nameOf(frame), { begun: 0, left: times });
    if (times === 0) this.#end(frame);
    else for (let at = 0; at < (atOnce ? times : 1); at += 1) this.#open(frame);
    return true;
  }

  #open(frame: Frame): void {
    const loop = this.#loops.get(nameOf(frame));
    if (!loop) throw new Error(`${nameOf(frame)} is no loop`);
    const index = loop.begun;
    loop.begun += 1;
    // Outputs have these names, too.
    const values = { [`key${frame.path.length % 3}`]: `item ${index} of ${nameOf(frame)}`, index };
    const around = this.#model.get(modelKey(frame.path)) ?? {};
    const key = modelKey([...frame.path, { nodeID: frame.node.id, iteration: index }]);
    this.#model.set(key, { ...around, ...values });
    this.#failed.set(key, [...(this.#failed.get(modelKey(frame.path)) ?? [])]);
    this.#add(this.state.open(frame, index, values));
    expect(this.state.open(frame, index, { key1: 'a second time' })).toEqual([]);
  }

  #end(frame: Frame): void {
    const { node, path } = frame;
    const { outputVariable, mergeOutputs } = node.config as { outputVariable?: string; mergeOutputs?: boolean };
    this.#seq += 1;
    const value = `${this.#seq} of ${nameOf(frame)}`;
    const merged: JsonObject = mergeOutputs ? { key0: `${value}, merged`, key1: `${value}, merged` } : {};
    const output: JsonObject = outputVariable ? { [outputVariable]: mergeOutputs ? merged : value } : {};
    const error = this.#seq % 3 === 0 ? { code: 'NODE_FAILED', message: value } : undefined;
    this.rows.push({ seq: this.#seq, nodeID: node.id, path: pathKey(path), output, ...(error && { error }) });
    const { state } = this;
    const source = error
      ? state.pass(frame, node.config, { output, error, attempt: 1 })
      : state.keep(frame, node.config, { output, length: 0 });
    source.seq = this.#seq;
    const place = { nodeID: node.id, attempt: 1, frame: path };
    if (error)
      this.#failed.get(modelKey(path))?.push({ frame, error: { ...error, ...place } as unknown as JsonObject });
    Object.assign(this.#model.get(modelKey(path)) ?? {}, merged, output);
    this.#check(frame);
    this.#add(this.state.settle(frame, node.id === 's' ? 'output' : AFTER));
    const around = path.at(-1);
    const container = around && this.state.find(around.nodeID, pathKey(path.slice(0, -1)));
    if (container && this.state.isOver(container, around.iteration)) this.#close(container, around.iteration);
  }

  #close(container: Frame, iteration: number): void {
    this.state.close(container, iteration);
    const loop = this.#loops.get(nameOf(container));
    if (!loop) throw new Error('an iteration ended that had not begun');
    loop.left -= 1;
    if (loop.left === 0) this.#end(container);
    else if (!this.#drawing.loops.get(container.node.id)?.atOnce) this.#open(container);
  }

  #check(frame: Frame): void {
    const passed = this.#failed.get(modelKey(frame.path)) ?? [];
    const before = passed.findLast((one) => leadsTo(this.#drawing, one.frame.node, frame.node));
    const ctx = { ...this.#model.get(modelKey(frame.path)), ...(before && { error: before.error }) };
    expect(this.state.scopeOf(frame)).toEqual(ctx);
  }

  #add(frames: readonly Frame[]): void {
    this.#ready.push(...frames.map(({ node, path }) => ({ nodeID: node.id, path: pathKey(path) })));
  }

  #find({ nodeID, path }: { nodeID: string; path: string }): Frame {
    const frame = this.state.find(nodeID, path);
    if (!frame) throw new Error(`There is no frame ${nodeID} ${path}`);
    return frame;
  }
}

/** Whether edges lead from a node to another, also into bodies; back to the node that repeats them, they lead nowhere. */
function leadsTo({ graph }: Pick<Drawing, 'graph'>, from: GraphNode, to: GraphNode): boolean {
  const targets = [...from.exits.values()].flat().map((edge) => graph.nodes[graph.edges[edge]?.target ?? -1]);
  return targets.some((target) => {
    if (!target || (target.region !== from.region && target.region !== from.body)) return false;
    return target === to || leadsTo({ graph }, target, to);
  });
}

function nameOf({ node, path }: Frame): string {
  return `${node.id} ${pathKey(path)}`;
}

function modelKey(path: Frame['path']): string {
  return path.map(({ nodeID, iteration }) => `${nodeID}.${iteration}`).join(' ');
}

const picks = fc.array(fc.nat(), { minLength: 1, maxLength: 40 });

test('in any nesting of loops each iteration has the values around it at its beginning, and its own stay inside', () => {
  fc.assert(
    fc.property(items, picks, (list, order) => {
      const run = new Execution(draw(list));
      for (let at = 0; run.step(order[at % order.length] ?? 0); at += 1);

      expect(run.state.isFinished).toBe(true);
      expect(saved(run.state)).not.toHaveProperty('scopes');
    }),
    { numRuns: 300, seed: 1 },
  );
});

test('a run continues from a checkpoint with the values of every open iteration, as often as it is restored', () => {
  fc.assert(
    fc.property(items, picks, fc.integer({ min: 1, max: 5 }), (list, order, every) => {
      const drawing = draw(list);
      const run = new Execution(drawing);
      for (let at = 0; run.step(order[at % order.length] ?? 0); at += 1) {
        if (at % every !== 0) continue;
        const checkpoint = saved(run.state);
        run.state = restored(drawing, checkpoint, run.rows);
        expect(saved(run.state)).toEqual(checkpoint);
      }
      expect(run.state.isFinished).toBe(true);
    }),
    { numRuns: 300, seed: 1 },
  );
});

test('a checkpoint refers to the outputs that still have a value, and to no others', () => {
  const loop = draw([{ kind: 'loop', times: 3, atOnce: false, body: [{ kind: 'node' }, { kind: 'node' }] }]);
  const run = new Execution(loop);
  for (let at = 0; at < 3; at += 1) run.step(0);
  const [before] = saved(run.state).scopes ?? [];
  while (run.step(0));

  expect(before?.path).toEqual([{ nodeID: expect.any(String), iteration: 0 }]);
  // Of the nodes in the three iterations, none.
  expect(run.rows).toHaveLength(8);
  expect(saved(run.state).outputs).toEqual([8]);
});

test('an end that an iteration has reached counts after a checkpoint, though the iteration is over', () => {
  const { nodes, edges } = graph(
    {
      start: { type: 'start' },
      loop: code('return 1', { outputVariable: 'loop' }),
      end: { type: 'end', outputParameters: [{ name: 'reached', sourceVariable: '{{ctx.loop}}' }] },
    },
    ['start>loop', 'loop:error>end'],
  );
  const compiled = atOnce(compileGraph(WorkflowNode.array().parse(nodes), WorkflowEdge.array().parse(edges)));
  const drawing = { graph: withBodies(compiled, 'error', (id) => id === 'loop') };
  const state = new RunState(drawing.graph, { from: 'input' });
  const [loop] = state.begin().flatMap((start) => state.settle(start, 'output'));
  const [end] = loop ? state.open(loop, 0, {}) : [];
  if (!loop || !end) throw new Error('The iteration did not begin');
  const output = { status: 'success', workflowOutput: { reached: 'yes' } };
  state.keep(end, end.node.config, { output, length: 0 }).seq = 3;
  state.settle(end, null);
  state.close(loop, 0);

  const checkpoint = saved(state);
  const again = restored(drawing, checkpoint, [{ seq: 3, nodeID: 'end', path: '0', output }]);

  expect(checkpoint.outputs).toEqual([3]);
  expect(again.end).toEqual(state.end);
  expect(again.end.output).toEqual({ reached: 'yes' });
});
