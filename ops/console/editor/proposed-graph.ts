import type { Edge } from '@xyflow/react';
import type { Draft } from './draft.ts';

export type StepMark = 'added' | 'changed' | 'removed';

/** The parts of a graph that a proposal adds, changes or removes, by their ids. */
export interface Marks {
  steps: ReadonlyMap<string, StepMark>;
  edges: ReadonlyMap<string, 'added' | 'removed'>;
}

/** The proposed graph with what it removes still in it, and what becomes of each part. */
export function proposedGraph(draft: Draft, next: Draft): { graph: Draft; marks: Marks } {
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

/** Words and colours of marks: those who do not tell colours apart read the words. */
export const markWords: Readonly<Record<StepMark, { word: string; tone: 'ok' | 'wait' | 'bad' }>> = {
  added: { word: 'Added', tone: 'ok' },
  changed: { word: 'Changed', tone: 'wait' },
  removed: { word: 'Removed', tone: 'bad' },
};

const looks = {
  added: { stroke: 'var(--ok)', strokeWidth: 2.5 },
  removed: { stroke: 'var(--bad)', strokeDasharray: '6 4' },
} as const;

export function markedEdges(edges: readonly Edge[], { edges: marks }: Marks): Edge[] {
  return edges.map((edge) => {
    const mark = marks.get(edge.id);
    return mark ? { ...edge, style: { ...edge.style, ...looks[mark] } } : edge;
  });
}
