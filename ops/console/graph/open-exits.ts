import { shownExits } from './exits.ts';
import type { Kinds } from './kinds.ts';
import type { ShownGraph } from './shown.ts';

/** An exit that leads nowhere, with which a run would fail. */
export interface OpenExit {
  nodeID: string;
  exit: string;
  /** When a step is left by it, in words that follow the name of the step. */
  when: string;
}

const whens: Readonly<Record<string, string>> = {
  'approval rejected': 'is rejected',
  'approval expired': 'is not answered in time',
  'waitForEvent expired': 'waits for an event that does not come in time',
};

/** The exits of a graph that lead nowhere, although a run that leaves by them fails. */
export function openExits({ nodes, edges }: ShownGraph, kinds: Kinds): OpenExit[] {
  const leaving = Map.groupBy(edges, ({ source }) => source);
  return nodes.flatMap((node) =>
    shownExits(node, leaving.get(node.id) ?? [], kinds)
      .filter(({ isFailing }) => isFailing)
      .map(({ id }) => ({
        nodeID: node.id,
        exit: id,
        when: whens[`${node.type} ${id}`] ?? 'is not answered in time',
      })),
  );
}
