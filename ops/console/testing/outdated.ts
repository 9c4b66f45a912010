import { type EditedGraph, type EditedStep, pinOf } from './pins.ts';
import type { Results } from './results.ts';

export const OUTDATED = 'This step, or one before it, has changed since the test';

/** The steps with results that another test would not give, because they or steps before them have changed since. */
export function outdatedSteps(results: Results, graph: EditedGraph): ReadonlySet<string> {
  const outdated = new Set<string>();
  const tests = Map.groupBy(results, ([, { tested }]) => tested);
  for (const [tested, own] of tests) {
    if (!tested || isSame(tested, graph)) continue;
    const changed = changedSince(tested, graph, results);
    for (const [id] of own) if (changed.has(id)) outdated.add(id);
  }
  return outdated;
}

function isSame(before: EditedGraph, now: EditedGraph): boolean {
  return before.nodes === now.nodes && before.edges === now.edges;
}

/** The steps that differ, and all behind them. */
function changedSince(before: EditedGraph, now: EditedGraph, results: Results): ReadonlySet<string> {
  const old = new Map(before.nodes.map((node) => [node.id, node]));
  const differs = (node: EditedStep) => {
    const own = old.get(node.id);
    return !own || !(actsAlike(own, node) || actsAlike(own, pinnedAs(own, node, results)));
  };
  const found = new Set(now.nodes.filter(differs).map(({ id }) => id));
  const ways = waysIn(before);
  const ownWays = waysIn(now);
  for (const { target } of [...before.edges, ...now.edges])
    if (ways.get(target) !== ownWays.get(target)) found.add(target);
  const leaving = Map.groupBy(now.edges, ({ source }) => source);
  // The loop over the Set also visits steps that are added meanwhile.
  for (const one of found) for (const { target } of leaving.get(one) ?? []) found.add(target);
  return found;
}

/** The ways to each step, as one text. */
function waysIn({ edges }: EditedGraph): ReadonlyMap<string, string> {
  const arriving = Map.groupBy(edges, ({ target }) => target);
  const textOf = (list: typeof edges) => JSON.stringify(list.map((edge) => [edge.source, edge.sourceHandle]).sort());
  return new Map([...arriving].map(([target, list]) => [target, textOf(list)]));
}

/** Whether two states of a step do the same: what they are called does not count. */
function actsAlike(before: EditedStep, now: EditedStep): boolean {
  if (before.data === now.data && before.more.pinned === now.more.pinned) return true;
  return actsBy(before) === actsBy(now);
}

/** The step as it was pinned before, if its result in the test is what has been pinned since. */
function pinnedAs(before: EditedStep, now: EditedStep, results: Results): EditedStep {
  const pin = pinOf(now);
  const { output, outputOmitted, exit } = results.get(now.id)?.steps.shown.last ?? {};
  const isResult =
    outputOmitted === true || (JSON.stringify(output) === JSON.stringify(pin?.output) && exit === (pin?.exit ?? null));
  if (!pin || pinOf(before) || !isResult) return now;
  return { ...now, more: before.more };
}

function actsBy({ type, data: { title: _, description: __, ...config }, more: { pinned } }: EditedStep): string {
  return JSON.stringify([type, config, pinned]);
}
