import { nodesOf } from '../client/run-steps.ts';
import type { Run } from '../client/types.ts';
import { wordsOf } from '../graph/kinds.ts';
import type { Graph } from './graph-of.ts';

/** Work of a run that its repetition does a second time, by the ids of the steps. */
export interface DoneAgain {
  /** Loops and maps that had begun: they begin with their first item. */
  repeating: string[];
  /** Items that were begun, of all of these. */
  items: number;
  /** Steps that people have answered, who are asked again. */
  answered: string[];
}

/** Tells what of the steps that are executed the run had done already. */
export function doneAgain(
  { timeline, status, maps = [] }: Pick<Run, 'timeline' | 'status' | 'maps'>,
  executed: readonly string[],
  graph: Graph | undefined,
): DoneAgain {
  const begun = new Set([
    ...timeline.flatMap(({ frame }) => frame.map(({ nodeID }) => nodeID)),
    ...maps.flatMap(({ nodeID, done }) => (done > 0 ? [nodeID] : [])),
  ]);
  const kinds = new Map(graph?.nodes.map(({ id, kind }) => [id, kind]));
  const answered = nodesOf(timeline, status).filter(
    ({ nodeID, steps }) =>
      wordsOf(kinds.get(nodeID) ?? '', undefined).group === 'People' && steps.some((step) => step.status === 'SUCCESS'),
  );
  const isExecuted = new Set(executed);
  const repeating = executed.filter((id) => begun.has(id));
  const ofLoops = new Set(
    timeline.flatMap(({ frame }) => {
      const at = frame.findIndex(({ nodeID }) => isExecuted.has(nodeID));
      return at === -1 ? [] : [JSON.stringify(frame.slice(0, at + 1))];
    }),
  );
  const ofMaps = maps.filter(({ nodeID }) => isExecuted.has(nodeID)).reduce((sum, { done }) => sum + done, 0);
  return {
    repeating,
    items: ofLoops.size + ofMaps,
    answered: answered.flatMap(({ nodeID }) => (isExecuted.has(nodeID) ? [nodeID] : [])),
  };
}
