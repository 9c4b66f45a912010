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
