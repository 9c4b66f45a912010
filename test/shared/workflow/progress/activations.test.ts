import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Graph } from '#shared/workflow/graph/graph.ts';
import { divide } from '#shared/workflow/graph/regions.ts';
import { type IterationPath, idempotencyKey, innermost, pathKey } from '#shared/workflow/progress/iteration-path.ts';
import { type Activation, Progress } from '#shared/workflow/progress/progress.ts';
import { AFTER, type Drawing, draw, type Item, items } from '#test/support/drawn-loops.ts';

type Operation = { node: string; key: string } & ({ enters: number } | { exit: string });

/** A run that executes frames in any order, and writes down what it does. */
class Execution {
  readonly operations: Operation[] = [];
  readonly settled: string[] = [];
  readonly progress: Progress;
  readonly #loops: Drawing['loops'];
  #ready: Activation[] = [];
  readonly #repeating = new Map<Activation, { begun: number; left: number }>();

  constructor({ graph, loops }: Drawing, past: readonly Operation[] = []) {
    this.progress = new Progress(graph);
    this.#loops = loops;
    this.#ready = this.progress.begin();
    for (const operation of past) this.#replay(operation);
  }

  get ready(): string[] {
    return this.#ready.map(nameOf);
  }

  /** Executes one ready frame; false if there is none. */
  step(pick: number): boolean {
    const [activation] = this.#ready.splice(pick % Math.max(1, this.#ready.length), 1);
    if (!activation) return false;
    const loop = this.#loops.get(activation.node.id);
    if (loop && loop.times > 0) {
      for (let at = 0; at < (loop.isParallel ? loop.times : 1); at += 1) this.#enter(activation, at);
    } else this.#settle(activation, activation.node.id === 's' ? 'output' : AFTER);
    return true;
  }

  #enter(activation: Activation, iteration: number): void {
    const repeating = this.#repeating.get(activation) ?? {
      begun: 0,
      left: this.#loops.get(activation.node.id)?.times ?? 0,
    };
    this.#repeating.set(activation, { ...repeating, begun: repeating.begun + 1 });
    this.operations.push({ node: activation.node.id, key: pathKey(activation.path), enters: iteration });
    this.#ready.push(...this.progress.enter(activation, iteration));
    expect(this.progress.enter(activation, iteration)).toEqual([]);
  }

  #settle(activation: Activation, exit: string): void {
    this.settled.push(nameOf(activation));
    this.operations.push({ node: activation.node.id, key: pathKey(activation.path), exit });
    this.#ready.push(...this.progress.settle(activation, exit));
    const around = activation.path.at(-1);
    const container = around && this.progress.find(around.nodeID, pathKey(activation.path.slice(0, -1)));
    if (container && this.progress.isOver(container, around.iteration)) this.#endIteration(container, around.iteration);
  }

  #endIteration(container: Activation, iteration: number): void {
    const repeating = this.#repeating.get(container);
    if (!repeating) throw new Error('an iteration ended that had not begun');
    this.progress.leave(container, iteration);
    repeating.left -= 1;
    if (repeating.left === 0) this.#settle(container, AFTER);
    else if (!this.#loops.get(container.node.id)?.isParallel) this.#enter(container, repeating.begun);
  }

  /** The ends of iterations follow from the settled frames, so they may have happened here already. */
  #replay(operation: Operation): void {
    if (this.operations.some((known) => JSON.stringify(known) === JSON.stringify(operation))) return;
    const activation = this.progress.find(operation.node, operation.key);
    if (!activation) throw new Error(`the replay does not find ${operation.node} ${operation.key}`);
    this.#ready = this.#ready.filter((ready) => ready !== activation);
    if ('enters' in operation) this.#enter(activation, operation.enters);
    else this.#settle(activation, operation.exit);
  }
}

function nameOf({ node, path }: Activation): string {
  return `${node.id} ${pathKey(path)}`;
}

const picks = fc.array(fc.nat(), { minLength: 1, maxLength: 40 });
const fewRuns = { numRuns: 300, seed: 1 };

describe('for any nesting of loops and maps', () => {
  test('every activation runs once, in any order, to the end', () => {
    fc.assert(
      fc.property(items, picks, (list, order) => {
        const drawing = draw(list);
        const run = new Execution(drawing);
        for (let at = 0; run.step(order[at % order.length] ?? 0); at += 1);

        expect(run.progress.isFinished).toBe(true);
        expect(run.settled.toSorted()).toEqual(drawing.frames.toSorted());
      }),
      fewRuns,
    );
  });

  test('a run that is interrupted anywhere continues from what it has done', () => {
    fc.assert(
      fc.property(items, picks, fc.nat(), (list, order, cut) => {
        const drawing = draw(list);
        const whole = new Execution(drawing);
        for (let at = 0; whole.step(order[at % order.length] ?? 0); at += 1);
        const first = new Execution(drawing);
        for (let at = 0; at < cut % (whole.settled.length + 1) && first.step(order[at % order.length] ?? 0); at += 1);

        const second = new Execution(drawing, first.operations);
        expect(second.ready.toSorted()).toEqual(first.ready.toSorted());
        while (second.step(0));
        expect(second.settled.toSorted()).toEqual(drawing.frames.toSorted());
      }),
      fewRuns,
    );
  });

  test('a run continues from the snapshot of its progress', () => {
    fc.assert(
      fc.property(items, picks, fc.nat(), (list, order, cut) => {
        const drawing = draw(list);
        const whole = new Execution(drawing);
        for (let at = 0; whole.step(order[at % order.length] ?? 0); at += 1);
        const first = new Execution(drawing);
        for (let at = 0; at < cut % (whole.settled.length + 1) && first.step(order[at % order.length] ?? 0); at += 1);

        const second = new Progress(drawing.graph);
        const ready = second.load(JSON.parse(JSON.stringify(first.progress.snapshot())));
        // A loop whose iterations run is ready itself, too.
        const names = ready.map(nameOf);
        expect(names).toEqual(expect.arrayContaining(first.ready));
        expect(
          names
            .filter((name) => !first.ready.includes(name))
            .every((name) => drawing.loops.has(name.split(' ')[0] ?? '')),
        ).toBe(true);
        expect(second.snapshot()).toEqual(first.progress.snapshot());
        // So that a checkpoint does not grow with what is done.
        for (const { states, pending } of first.progress.snapshot())
          expect(pending.filter(([place]) => Number(states[place]) > 1)).toEqual([]);
        expect(second.isFinished).toBe(first.progress.isFinished);
      }),
      fewRuns,
    );
  });

  test('a run that is repeated from an activation keeps what does not come after it, and has that activation ready', () => {
    fc.assert(
      fc.property(items, picks, fc.nat(), (list, order, pick) => {
        const sequential = list.map(inOrder);
        const drawing = draw(sequential);
        const run = new Execution(drawing);
        for (let at = 0; run.step(order[at % order.length] ?? 0); at += 1);
        const leaves = run.operations.filter((one) => 'exit' in one && !drawing.loops.has(one.node));
        const from = leaves[pick % leaves.length] as Operation;

        const retained = run.operations.filter((one) => !isAfter(drawing.graph, one, from));
        const again = new Execution(drawing, retained);
        expect(again.ready).toContain(`${from.node} ${from.key}`);
        while (again.step(0));
        expect(again.settled.toSorted()).toEqual(drawing.frames.toSorted());
      }),
      fewRuns,
    );
  });

  test('no two activations have the same node and key', () => {
    fc.assert(
      fc.property(items, (list) => {
        const { frames } = draw(list);
        expect(new Set(frames).size).toBe(frames.length);
      }),
      fewRuns,
    );
  });
});

function inOrder(item: Item): Item {
  return item.kind === 'loop' ? { ...item, isParallel: false, body: item.body.map(inOrder) } : item;
}

/** Whether an operation follows from what a frame did, or is of that frame. */
function isAfter(graph: Graph, operation: Operation, from: Operation): boolean {
  const [mine, theirs] = [positionsOf(graph, operation), positionsOf(graph, from)];
  for (const [depth, place] of theirs.entries()) {
    const own = mine[depth];
    // The operation is of a loop around the frame: its end comes after, an iteration up to that of the frame before.
    if (!own) return 'exit' in operation || operation.enters > (theirs[depth - 1]?.iteration ?? 0);
    if (own.node !== place.node) return reaches(graph, place.node, own.node);
    if (own.iteration === undefined) {
      const isItself = place.iteration === undefined;
      return isItself || 'exit' in operation || operation.enters > (place.iteration ?? 0);
    }
    if (own.iteration !== place.iteration) return own.iteration > (place.iteration ?? 0);
  }
  return true;
}

interface Position {
  node: string;
  iteration?: number;
}

/** The loops around a frame, each with its iteration, and the node itself. */
function positionsOf(graph: Graph, { node: id, key }: Operation): Position[] {
  const around: string[] = [];
  let region = graph.nodes[graph.indexOf.get(id) ?? -1]?.region ?? 0;
  for (let container = graph.regions[region]?.container; typeof container === 'number'; ) {
    around.unshift(graph.nodes[container]?.id ?? '');
    region = graph.nodes[container]?.region ?? 0;
    container = graph.regions[region]?.container;
  }
  return [...around.map((node, depth) => ({ node, iteration: Number(key.split('.')[depth]) })), { node: id }];
}

function reaches(graph: Graph, from: string, to: string): boolean {
  const reached = new Set([graph.indexOf.get(from) ?? -1]);
  for (const node of reached) for (const { source, target } of graph.edges) if (source === node) reached.add(target);
  return reached.has(graph.indexOf.get(to) ?? -1);
}

describe('regions', () => {
  test('an edge into a body from outside of it is a stray', () => {
    const edges = ['0>1:x', '1>2:x', '0>2:x'].map((text, index) => {
      const [, source, target, exit = ''] = /(\d)>(\d):(\w)/.exec(text) ?? [];
      return { index, id: text, source: Number(source), target: Number(target), exit };
    });

    expect(divide(3, edges, () => undefined).strays).toEqual([]);
    expect(divide(3, edges, (node) => (node === 1 ? 'x' : undefined)).strays).toEqual([2]);
  });
});

test('outside of loops the key is 0 and the iteration 0; inside it has the index of every iteration', () => {
  expect([pathKey([]), innermost([])]).toEqual(['0', 0]);
  const path = [
    { nodeID: 'outer', iteration: 2 },
    { nodeID: 'inner', iteration: 0 },
  ];
  expect([pathKey(path), innermost(path)]).toEqual(['2.0', 0]);
});

test('every activation of a run has an idempotency key of its own, which outside of loops ends with 0', () => {
  const id = fc.string({ unit: fc.constantFrom('a', '.', '-', '0', '1'), minLength: 1, maxLength: 4 });
  const depths = fc.dictionary(id, fc.nat(3), { minKeys: 2, noNullPrototype: true });
  fc.assert(
    fc.property(depths, fc.integer({ min: 1, max: 3 }), (depthOf, times) => {
      const keys = Object.entries(depthOf).flatMap(([nodeID, depth]) =>
        paths(depth, times).map((path) => idempotencyKey('run', nodeID, path)),
      );
      expect(new Set(keys).size).toBe(keys.length);
      for (const [nodeID, depth] of Object.entries(depthOf)) if (depth === 0) expect(keys).toContain(`run.${nodeID}.0`);
    }),
  );
});

/** The path of every iteration of loops in each other. */
function paths(depth: number, times: number): IterationPath[] {
  if (depth === 0) return [[]];
  return paths(depth - 1, times).flatMap((around) =>
    Array.from({ length: times }, (_, iteration) => [...around, { nodeID: `loop${depth}`, iteration }]),
  );
}
