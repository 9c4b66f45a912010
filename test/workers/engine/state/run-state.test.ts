import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runSync } from '#shared/concurrency/cooperative.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { compileGraph, type GraphNode, WorkflowEdge, WorkflowNode } from '#shared/workflow/graph/graph.ts';
import { pathKey } from '#shared/workflow/progress/iteration-path.ts';
import type { Activation } from '#shared/workflow/progress/progress.ts';
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
  /** The error of a node that failed and was left all the same. */
  error?: ShownError;
}

/** The checkpoint as JSON. */
function saved(state: RunState): Checkpoint {
  return JSON.parse(JSON.stringify(state.checkpoint({ retrying: [], isPaused: false })));
}

function restored(drawing: Pick<Drawing, 'graph'>, checkpoint: Checkpoint, rows: readonly Row[]): RunState {
  const state = new RunState(drawing.graph, { from: 'input' });
  state.load(checkpoint);
  for (const { seq, output, nodeID, path, error } of rows) {
    if (!checkpoint.outputs.includes(seq)) continue;
    const source = state.restoreOutput({ nodeID, path: pathOf(path) }, output, seq);
    if (source && error) state.restorePassed({ nodeID, path: pathOf(path) }, { error, attempt: 1 }, source);
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
  /** Activations that have failed, by the same keys, with their errors, the latest last. */
  readonly #failed = new Map<string, { activation: Activation; error: JsonObject }[]>([['', []]]);
  /** Iterations begun, and not over, by name of the loop's activation. */
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
    const [where] = this.#ready.splice(pick % Math.max(1, this.#ready.length), 1);
    if (!where) return false;
    const activation = this.#find(where);
    const { times = 0, isParallel = false } = this.#drawing.loops.get(where.nodeID) ?? {};
    this.#loops.set(nameOf(activation), { begun: 0, left: times });
    if (times === 0) this.#end(activation);
    else for (let at = 0; at < (isParallel ? times : 1); at += 1) this.#open(activation);
    return true;
  }

  #open(activation: Activation): void {
    const loop = this.#loops.get(nameOf(activation));
    if (!loop) throw new Error(`${nameOf(activation)} is no loop`);
    const index = loop.begun;
    loop.begun += 1;
    // Outputs have these names, too.
    const values = { [`key${activation.path.length % 3}`]: `item ${index} of ${nameOf(activation)}`, index };
    const around = this.#model.get(modelKey(activation.path)) ?? {};
    const key = modelKey([...activation.path, { nodeID: activation.node.id, iteration: index }]);
    this.#model.set(key, { ...around, ...values });
    this.#failed.set(key, [...(this.#failed.get(modelKey(activation.path)) ?? [])]);
    this.#add(this.state.open(activation, index, values));
    expect(this.state.open(activation, index, { key1: 'a second time' })).toEqual([]);
  }

  #end(activation: Activation): void {
    const { node, path } = activation;
    const { outputVariable, mergeOutputs } = node.config as { outputVariable?: string; mergeOutputs?: boolean };
    this.#seq += 1;
    const value = `${this.#seq} of ${nameOf(activation)}`;
    const merged: JsonObject = mergeOutputs ? { key0: `${value}, merged`, key1: `${value}, merged` } : {};
    const output: JsonObject = outputVariable ? { [outputVariable]: mergeOutputs ? merged : value } : {};
    const error = this.#seq % 3 === 0 ? { code: 'NODE_FAILED', message: value } : undefined;
    this.rows.push({ seq: this.#seq, nodeID: node.id, path: pathKey(path), output, ...(error && { error }) });
    const { state } = this;
    const source = error
      ? state.pass(activation, node.config, { output, error, attempt: 1 })
      : state.store(activation, node.config, { output, length: 0 });
    source.seq = this.#seq;
    const origin = { nodeID: node.id, attempt: 1, frame: path };
    if (error)
      this.#failed.get(modelKey(path))?.push({ activation, error: { ...error, ...origin } as unknown as JsonObject });
    Object.assign(this.#model.get(modelKey(path)) ?? {}, merged, output);
    this.#check(activation);
    this.#add(this.state.settle(activation, node.id === 's' ? 'output' : AFTER));
    const around = path.at(-1);
    const container = around && this.state.find(around.nodeID, pathKey(path.slice(0, -1)));
    if (container && this.state.isOver(container, around.iteration)) this.#close(container, around.iteration);
  }

  #close(container: Activation, iteration: number): void {
    this.state.close(container, iteration);
    const loop = this.#loops.get(nameOf(container));
    if (!loop) throw new Error('an iteration ended that had not begun');
    loop.left -= 1;
    if (loop.left === 0) this.#end(container);
    else if (!this.#drawing.loops.get(container.node.id)?.isParallel) this.#open(container);
  }

  #check(activation: Activation): void {
    const passed = this.#failed.get(modelKey(activation.path)) ?? [];
    const before = passed.findLast((one) => leadsTo(this.#drawing, one.activation.node, activation.node));
    const ctx = { ...this.#model.get(modelKey(activation.path)), ...(before && { error: before.error }) };
    expect(this.state.scopeOf(activation)).toEqual(ctx);
  }

  #add(activations: readonly Activation[]): void {
    this.#ready.push(...activations.map(({ node, path }) => ({ nodeID: node.id, path: pathKey(path) })));
  }

  #find({ nodeID, path }: { nodeID: string; path: string }): Activation {
    const activation = this.state.find(nodeID, path);
    if (!activation) throw new Error(`There is no frame ${nodeID} ${path}`);
    return activation;
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

function nameOf({ node, path }: Activation): string {
  return `${node.id} ${pathKey(path)}`;
}

function modelKey(path: Activation['path']): string {
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
  const loop = draw([{ kind: 'loop', times: 3, isParallel: false, body: [{ kind: 'node' }, { kind: 'node' }] }]);
  const run = new Execution(loop);
  for (let at = 0; at < 3; at += 1) run.step(0);
  const [before] = saved(run.state).scopes ?? [];
  while (run.step(0));

  expect(before?.path).toEqual([{ nodeID: expect.any(String), iteration: 0 }]);
  // None of the nodes in the three iterations has a row.
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
  const compiled = runSync(compileGraph(WorkflowNode.array().parse(nodes), WorkflowEdge.array().parse(edges)));
  const drawing = { graph: withBodies(compiled, 'error', (id) => id === 'loop') };
  const state = new RunState(drawing.graph, { from: 'input' });
  const [loop] = state.begin().flatMap((start) => state.settle(start, 'output'));
  const [end] = loop ? state.open(loop, 0, {}) : [];
  if (!loop || !end) throw new Error('The iteration did not begin');
  const output = { status: 'success', workflowOutput: { reached: 'yes' } };
  state.store(end, end.node.config, { output, length: 0 }).seq = 3;
  state.settle(end, null);
  state.close(loop, 0);

  const checkpoint = saved(state);
  const again = restored(drawing, checkpoint, [{ seq: 3, nodeID: 'end', path: '0', output }]);

  expect(checkpoint.outputs).toEqual([3]);
  expect(again.end).toEqual(state.end);
  expect(again.end.output).toEqual({ reached: 'yes' });
});
