import type { Edge } from '@xyflow/react';
import type { Plan } from './planned.ts';

const looks = {
  yes: { stroke: 'var(--ok)', strokeWidth: 2.5 },
  depends: { stroke: 'var(--wait)', strokeDasharray: '6 4' },
  no: { strokeDasharray: '2 5', opacity: 0.5 },
} as const;

/** Edges as a plan takes them: for certain, perhaps, or not. */
export function plannedEdges(edges: readonly Edge[], { edges: taken }: Plan): Edge[] {
  return edges.map((edge) => {
    const state = taken.get(edge.id);
    return state ? { ...edge, style: { ...edge.style, ...looks[state] } } : edge;
  });
}
