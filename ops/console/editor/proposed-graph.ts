import type { Draft } from './draft.ts';
import type { Proposed, StepMark } from './marks.ts';

/** The proposed graph with what it removes still in it, and what becomes of each part. */
export function proposedGraph(draft: Draft, next: Draft): Proposed {
  const [before, after] = [byID(draft.nodes), byID(next.nodes)];
  const removed = draft.nodes.filter(({ id }) => !after.has(id));
  const steps = new Map<string, StepMark>(removed.map(({ id }) => [id, 'removed']));
  for (const { id, type, data } of next.nodes) {
    const old = before.get(id);
    if (!old) steps.set(id, 'added');
    else if (old.type !== type || !isSame(old.data, data)) steps.set(id, 'changed');
  }
  const [oldEdges, newEdges] = [byID(draft.edges), byID(next.edges)];
  const removedEdges = draft.edges.filter(({ id }) => !newEdges.has(id));
  const edges = new Map([
    ...removedEdges.map(({ id }) => [id, 'removed'] as const),
    ...next.edges.flatMap(({ id }) => (oldEdges.has(id) ? [] : [[id, 'added'] as const])),
  ]);
  const graph = { ...next, nodes: [...next.nodes, ...removed], edges: [...next.edges, ...removedEdges] };
  return { graph, marks: { steps, edges } };
}

function byID<Part extends { id: string }>(parts: readonly Part[]): ReadonlyMap<string, Part> {
  return new Map(parts.map((part) => [part.id, part]));
}

function isSame(one: object, other: object): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
