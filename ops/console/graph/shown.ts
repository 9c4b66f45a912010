import { isObject } from '../ui/is-object.ts';

/** A graph as it is drawn, in the editor and on the page of a run. */
export interface ShownGraph {
  nodes: readonly ShownStep[];
  edges: readonly ShownEdge[];
}

export interface ShownStep {
  id: string;
  type: string;
  data: Readonly<Record<string, unknown>>;
  /** Where a person has put it. */
  position?: Point | undefined;
}

export interface ShownEdge {
  id: string;
  source: string;
  target: string;
  sourceHandle: string | null;
}

export interface Point {
  x: number;
  y: number;
}

/** The point that a saved value is; undefined if it is none. */
export function pointIn(value: unknown): Point | undefined {
  if (!isObject(value) || typeof value.x !== 'number' || typeof value.y !== 'number') return undefined;
  return { x: value.x, y: value.y };
}
