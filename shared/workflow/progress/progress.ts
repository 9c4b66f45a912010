import type { Graph, GraphNode } from '../graph/graph.ts';
import { elseExitOf, usualExitOf } from '../nodes/properties.ts';
import type { IterationPath } from './iteration-path.ts';

/** A node together with the iterations around it. One object for each in a run, so activations are compared by identity. */
export interface Activation {
  readonly node: GraphNode;
  readonly path: IterationPath;
}

/** The state of a node in a pass. `called`: at least one edge was taken, others are pending. `dead`: no edge can be taken any more. */
const state = { waiting: 0, called: 1, ready: 2, settled: 3, dead: 4 } as const;

/** One pass through a region: through the nodes outside of bodies, or through a body. */
interface Pass {
  readonly path: IterationPath;
  readonly nodes: readonly number[];
  /** The edges that are neither taken nor dead yet, by position. */
  readonly pending: Uint32Array;
  readonly state: Uint8Array;
  readonly activations: (Activation | undefined)[];
  /** Passes through the bodies of its nodes, by node and iteration. */
  readonly inner: Map<string, Pass>;
  /** Nodes that became ready and have not been settled. */
  unsettled: number;
}

/** One pass as JSON: the state of the node at each position, and the count of pending edges where some edges have arrived. */
export interface PassSnapshot {
  path: IterationPath;
  states: string;
  pending: [position: number, edges: number][];
}

/**
 * The position of a run in its graph. Without I/O: it follows only from the exits by which activations were left and the iterations that
 * were entered, in their order.
 */
export class Progress {
  readonly #graph: Graph;
  readonly #root: Pass;
  readonly #passOf = new WeakMap<Activation, Pass>();

  constructor(graph: Graph) {
    this.#graph = graph;
    this.#root = this.#createPass(0, []);
  }

  /** Whether all activations outside of bodies that became ready are settled. */
  get isFinished(): boolean {
    return this.#root.unsettled === 0;
  }

  /** Whether no edge into a node outside of bodies can be taken any more. */
  isDead({ position, region }: GraphNode): boolean {
    return region === 0 && this.#root.state[position] === state.dead;
  }

  /** All passes as JSON, each after the one around it. */
  snapshot(): PassSnapshot[] {
    const passes = [this.#root];
    for (const { inner } of passes) passes.push(...inner.values());
    return passes.map((pass) => ({ path: pass.path, states: pass.state.join(''), pending: this.#partlyArrived(pass) }));
  }

  /** The pending edges of nodes at which some edges have arrived. For a node that is ready, settled or dead they no longer matter. */
  #partlyArrived({ nodes, state: states, pending }: Pass): PassSnapshot['pending'] {
    const found: PassSnapshot['pending'] = [];
    for (const [position, index] of nodes.entries()) {
      const isWaiting = states[position] === state.waiting || states[position] === state.called;
      const edges = pending[position] ?? 0;
      if (isWaiting && edges !== this.#node(index).incoming.length) found.push([position, edges]);
    }
    return found;
  }

  /** Goes on from a snapshot, in place of `begin`. Returns the activations that are ready. */
  load(snapshot: readonly PassSnapshot[]): Activation[] {
    return snapshot.flatMap(({ path, states, pending }) => {
      const pass = this.#passAt(path);
      for (const [position, digit] of [...states].entries()) pass.state[position] = Number(digit);
      for (const [position, edges] of pending) pass.pending[position] = edges;
      const ready = pass.nodes.filter((_, position) => pass.state[position] === state.ready);
      pass.unsettled = ready.length;
      return ready.map((index) => this.#activation(pass, this.#node(index)));
    });
  }

  /** Begins the iterations of a path that have not begun. Returns the path that their activations share. */
  enterAll(path: IterationPath): IterationPath {
    return this.#passAt(path).path;
  }

  /** The pass of a path. Begins it, and those around it, if they have not begun. */
  #passAt(path: IterationPath): Pass {
    let pass = this.#root;
    for (const { nodeID, iteration } of path) {
      const node = this.#node(this.#graph.indexOf.get(nodeID) ?? -1);
      this.enter(this.#activation(pass, node), iteration);
      pass = pass.inner.get(innerKey(node.index, iteration)) ?? pass;
    }
    return pass;
  }

  /** Makes the start node ready. Returns the activations that became ready. */
  begin(): Activation[] {
    const start = this.#node(this.#graph.startIndex);
    if (this.#root.state[start.position] !== state.waiting) return [];
    this.#root.state[start.position] = state.ready;
    this.#root.unsettled += 1;
    return [this.#activation(this.#root, start)];
  }

  /**
   * Settles an activation that left by an exit, or by none: an end node, a failed node. Returns the activations that become ready, in the order
   * of their edges. Settling an activation again changes nothing.
   */
  settle(activation: Activation, exit: string | null): Activation[] {
    const { node } = activation;
    const pass = this.#passOf.get(activation);
    if (pass?.state[node.position] === state.settled) return [];
    if (pass?.state[node.position] !== state.ready) throw new Error(`Node ${node.id} is settled before it is ready`);

    pass.state[node.position] = state.settled;
    const wave: Wave = { pass, ready: [], dead: [] };
    this.#leaveNode(wave, node, exit);
    // The list grows in the loop: a dead node may make the nodes after it dead.
    for (const dead of wave.dead) this.#leaveNode(wave, dead, null);
    pass.unsettled += wave.ready.length - 1;
    return wave.ready.map((ready) => this.#activation(pass, ready));
  }

  /** Settles an activation that failed its iteration: no node that waits for it becomes ready. */
  fail(activation: Activation): void {
    const pass = this.#passOf.get(activation);
    if (pass?.state[activation.node.position] !== state.ready) return;
    pass.state[activation.node.position] = state.settled;
    pass.unsettled -= 1;
  }

  /** Begins an iteration of a ready activation's body. Returns the activations that become ready in it; none if it has begun before. */
  enter(activation: Activation, iteration: number): Activation[] {
    const outer = this.#passOf.get(activation);
    const region = activation.node.body;
    if (!outer || region === null) throw new Error(`Node ${activation.node.id} has no body`);
    const key = innerKey(activation.node.index, iteration);
    if (outer.inner.has(key)) return [];
    const pass = this.#createPass(region, [...activation.path, { nodeID: activation.node.id, iteration }]);
    outer.inner.set(key, pass);
    const wave: Wave = { pass, ready: [], dead: [] };
    for (const entry of this.#graph.regions[region]?.entries ?? [])
      arrive(wave, this.#node(this.#graph.edges[entry]?.target ?? -1), 'taken');
    pass.unsettled = wave.ready.length;
    return wave.ready.map((ready) => this.#activation(pass, ready));
  }

  /** Whether all activations of an iteration that became ready are settled. */
  isOver(activation: Activation, iteration: number): boolean {
    return this.#passOf.get(activation)?.inner.get(innerKey(activation.node.index, iteration))?.unsettled === 0;
  }

  /** Forgets an iteration. Returns the path of its activations; undefined if it had not begun. */
  leave(activation: Activation, iteration: number): IterationPath | undefined {
    const inner = this.#passOf.get(activation)?.inner;
    const key = innerKey(activation.node.index, iteration);
    const path = inner?.get(key)?.path;
    inner?.delete(key);
    return path;
  }

  /** The activation of a node by the key of its path; undefined if one of the iterations has not begun, or is forgotten. */
  find(nodeID: string, key: string): Activation | undefined {
    const node = this.#graph.nodes[this.#graph.indexOf.get(nodeID) ?? -1];
    if (!node) return undefined;
    const around = this.#containersOf(node);
    const iterations = key.split('.').map(Number);
    let pass: Pass | undefined = this.#root;
    for (const [depth, container] of around.entries())
      pass = pass?.inner.get(innerKey(container.index, iterations[depth] ?? -1));
    return pass && this.#activation(pass, node);
  }

  /** The nodes whose bodies a node lies in, outermost first. */
  #containersOf({ region }: GraphNode): GraphNode[] {
    const container = this.#graph.regions[region]?.container ?? null;
    if (container === null) return [];
    const node = this.#node(container);
    return [...this.#containersOf(node), node];
  }

  #createPass(region: number, path: IterationPath): Pass {
    const nodes = this.#graph.regions[region]?.nodes ?? [];
    const pending = Uint32Array.from(nodes, (index) => this.#node(index).incoming.length);
    return {
      path,
      nodes,
      pending,
      state: new Uint8Array(nodes.length),
      activations: [],
      inner: new Map(),
      unsettled: 0,
    };
  }

  #activation(pass: Pass, node: GraphNode): Activation {
    const known = pass.activations[node.position];
    if (known) return known;
    const activation: Activation = { node, path: pass.path };
    pass.activations[node.position] = activation;
    this.#passOf.set(activation, pass);
    return activation;
  }

  #node(index: number): GraphNode {
    const node = this.#graph.nodes[index];
    if (!node) throw new Error(`The graph has no node ${index}`);
    return node;
  }

  /** Takes the edges of the exit by which a node is left; its other edges become dead. Edges into a body are left to `enter`. */
  #leaveNode(wave: Wave, node: GraphNode, exit: string | null): void {
    const isTaken = takenFrom(node, exit);
    for (const [name, edges] of node.exits) {
      const edge = isTaken(name) ? 'taken' : 'dead';
      for (const index of edges) {
        const target = this.#node(this.#graph.edges[index]?.target ?? -1);
        if (target.region === node.region) arrive(wave, target, edge);
      }
    }
  }
}

/** Whether a branch of the region ends at a node when it leaves by this exit: no taken edge leads to another node of the region. */
export function isLast(graph: Graph, node: GraphNode, exit: string | null): boolean {
  const isTaken = takenFrom(node, exit);
  return ![...node.exits].some(([name, edges]) => isTaken(name) && edges.some((index) => leadsOn(graph, node, index)));
}

function leadsOn(graph: Graph, { region }: GraphNode, edge: number): boolean {
  return graph.nodes[graph.edges[edge]?.target ?? -1]?.region === region;
}

function innerKey(index: number, iteration: number): string {
  return `${index}.${iteration}`;
}

/**
 * Tests, by name, whether the edges of an exit are taken when a node leaves by `exit`. Null takes none. The usual exit of a node that forks takes
 * all but `error`. An exit without edges takes those of the else exit, if the kind has one.
 */
export function takenFrom({ definition, config, exits }: GraphNode, exit: string | null): (name: string) => boolean {
  if (exit === null) return () => false;
  if (definition.forks && exit === usualExitOf(definition, config)) return (name) => name !== 'error';
  const taken = exits.has(exit) || exit === 'error' ? exit : (elseExitOf(definition, config) ?? exit);
  return (name) => name === taken;
}

/** The effects of settling one activation. */
interface Wave {
  readonly pass: Pass;
  readonly ready: GraphNode[];
  readonly dead: GraphNode[];
}

/** Lets an edge, taken or dead, arrive at a node. The node becomes ready or dead as soon as its edges decide it. */
function arrive({ pass, ready, dead }: Wave, target: GraphNode, edge: 'taken' | 'dead'): void {
  const { position, joinMode } = target;
  const pending = (pass.pending[position] ?? 0) - 1;
  pass.pending[position] = pending;
  const before = pass.state[position];
  if (before === state.ready || before === state.settled) return; // joinMode any: an earlier edge was enough

  const isCalled = edge === 'taken' || before === state.called;
  if (isCalled && (pending === 0 || joinMode === 'any')) {
    pass.state[position] = state.ready;
    ready.push(target);
  } else if (isCalled) pass.state[position] = state.called;
  else if (pending === 0) {
    pass.state[position] = state.dead;
    dead.push(target);
  }
}
