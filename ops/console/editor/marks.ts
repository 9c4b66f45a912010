import type { Edge } from '@xyflow/react';
import type { Draft } from './draft.ts';

export type StepMark = 'added' | 'changed' | 'removed';

/** The parts of a graph that a proposal adds, changes or removes, by their ids. */
export interface Marks {
  steps: ReadonlyMap<string, StepMark>;
  edges: ReadonlyMap<string, 'added' | 'removed'>;
}

/** A draft with a proposed change in it. */
export interface Proposed {
  graph: Draft;
  marks: Marks;
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
