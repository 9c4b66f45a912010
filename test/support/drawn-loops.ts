import fc from 'fast-check';
import { runSync } from '#shared/concurrency/cooperative.ts';
import { compileGraph, type Graph, type WorkflowEdge, type WorkflowNode } from '#shared/workflow/graph/graph.ts';
import { withBodies } from './bodies.ts';

const BODY = 'error';
export const AFTER = 'success';
const childWorkflowID = '01a20361-eaf3-7000-be68-4c6e95a38225';

/** A part of a workflow: a node, two nodes side by side, or a node that repeats a body. */
export type Item =
  | { kind: 'node' }
  | { kind: 'pair' }
  | { kind: 'loop'; times: number; isParallel: boolean; body: Item[] };

export const { items } = fc.letrec<{ items: Item[]; item: Item }>((tie) => ({
  items: fc.array(tie('item'), { minLength: 1, maxLength: 3 }),
  item: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constant<Item>({ kind: 'node' }),
    fc.constant<Item>({ kind: 'pair' }),
    fc.record({
      kind: fc.constant('loop' as const),
      times: fc.nat(3),
      isParallel: fc.boolean(),
      body: tie('items'),
    }),
  ),
}));

export interface Loop {
  times: number;
  isParallel: boolean;
}

export interface Drawing {
  graph: Graph;
  loops: Map<string, Loop>;
  /** Every frame of a complete run: `node path`. */
  frames: string[];
}

/**
 * All nodes but the start are sub-workflows, which set one of three keys of `ctx`, half of them several. The exit `error` of a loop leads into its body; after it
 * loops leave by `success`, as plain nodes do.
 */
export function draw(all: Item[]): Drawing {
  const ids: string[] = ['s'];
  const edges: WorkflowEdge[] = [];
  const loops = new Map<string, Loop>();
  const connect = (source: string, sourceHandle: string, target: string) =>
    edges.push({ id: `e${edges.length}`, source, target, sourceHandle });
  const connectAll = (heads: [string, string][], targets: string[]) => {
    for (const target of targets) for (const [source, exit] of heads) connect(source, exit, target);
  };
  const create = () => {
    const id = `c${ids.length}`;
    ids.push(id);
    return id;
  };

  /** Appends the items behind the exits; returns the nodes, with a function that lists their frames. */
  function append(list: Item[], heads: [string, string][]): (path: number[]) => string[] {
    const listings: ((path: number[]) => string[])[] = [];
    let open = heads;
    for (const item of list) {
      const own = item.kind === 'pair' ? [create(), create()] : [create()];
      connectAll(open, own);
      open = own.map((id) => [id, AFTER]);
      listings.push((path) => own.map((id) => `${id} ${path.length === 0 ? '0' : path.join('.')}`));
      if (item.kind === 'loop') listings.push(repeat(item, own[0] ?? ''));
    }
    return (path) => listings.flatMap((listing) => listing(path));
  }

  function repeat(loop: Extract<Item, { kind: 'loop' }>, id: string): (path: number[]) => string[] {
    loops.set(id, loop);
    const inside = append(loop.body, [[id, BODY]]);
    return (path) => Array.from({ length: loop.times }, (_, at) => inside([...path, at])).flat();
  }

  const listing = append(all, [['s', 'output']]);
  const nodes = ids.map((id, index): WorkflowNode => {
    if (id === 's') return { id, type: 'start', data: {} };
    const data = { childWorkflowID, outputVariable: `key${index % 3}`, mergeOutputs: index % 2 === 0 };
    return { id, type: 'subWorkflow', data };
  });
  const divided = withBodies(runSync(compileGraph(nodes, edges)), BODY, (id) => loops.has(id));
  return { graph: divided, loops, frames: ['s 0', ...listing([])] };
}
