import type { Kinds } from '../graph/kinds.ts';
import { type Bodies, bodiesAround, bodiesOf, withBody } from '../graph/shape.ts';
import type { ShownEdge } from '../graph/shown.ts';
import { type EditedGraph, type EditedStep, exitAfter, type Pin } from './pins.ts';

/** The part of a graph that a test runs. */
export interface TestedPart {
  nodes: readonly EditedStep[];
  edges: readonly Edge[];
  /** The step after which the test ends. */
  stopAfter: string;
}

type Edge = ShownEdge & { more: Readonly<Record<string, unknown>> };

/** All that leads to a step, with the step. Undefined: no way leads to it from where runs begin. */
export function partUpTo(graph: EditedGraph, kinds: Kinds, id: string): TestedPart | undefined {
  const bodies = bodiesOf(graph, kinds);
  const before = stepsBefore(graph, bodies, id);
  const begins = ({ id: one, type }: EditedStep) => kinds[type]?.begins === true && (one === id || before.has(one));
  if (!graph.nodes.some(begins)) return undefined;
  const around = bodiesAround(id, bodies);
  const whole = [...before].filter((one) => !around.includes(one)).flatMap((one) => withBody(one, bodies));
  const steps = new Set([...before, ...whole, ...withBody(id, bodies)]);
  return { ...cutOut(graph, kinds, steps), stopAfter: outermostMap(graph, kinds, around) ?? id };
}

/** A step that is to be run alone, with those before it that it needs. */
export interface StepAlone {
  part: TestedPart;
  /** Steps before it with results, which are not run. */
  given: readonly string[];
  /** Steps without a result on every way to it; none: it can be run. */
  missing: readonly string[];
  /** The map in whose body the step lies: its items are runs of their own, so the step cannot be run without the map. */
  map: string | undefined;
}

/**
 * A graph in which a step is run alone: the steps before it stand in one line, without the branches between them, so that
 * the step is reached by their results. The steps that repeat it are run, for their first item.
 */
export function partAlone(
  graph: EditedGraph,
  kinds: Kinds,
  id: string,
  resultOf: (id: string) => Pin | undefined,
): StepAlone {
  const bodies = bodiesOf(graph, kinds);
  const around = bodiesAround(id, bodies);
  const before = stepsBefore(graph, bodies, id);
  const steps = new Map(graph.nodes.map((node) => [node.id, node]));
  const begins = (one: string) => kinds[steps.get(one)?.type ?? '']?.begins === true;
  const isPassed = (one: string) => begins(one) || around.includes(one) || steps.get(one)?.data.isDisabled === true;
  const line = inOrder(graph, bodies, before).filter(
    (one) => begins(one) || around.includes(one) || (resultOf(one) && !isPassed(one)),
  );
  const first = graph.nodes.find((node) => kinds[node.type]?.begins && node.id !== id);
  const ids = [...(first && !line.includes(first.id) ? [first.id] : []), ...line, id];
  const exitOf = (one: string) => {
    const node = steps.get(one);
    if (!node) return undefined;
    if (around.includes(one)) return kinds[node.type]?.bodyExit ?? undefined;
    return exitAfter(resultOf(one) ?? { output: {} }, node, kinds);
  };
  const own = cutOut(graph, kinds, new Set(withBody(id, bodies)));
  const between = ids.slice(1).map((target, index): Edge => {
    const source = ids[index] ?? '';
    return { id: `test-way-${index}`, source, target, sourceHandle: exitOf(source) ?? null, more: {} };
  });
  const nodes = [...ids.slice(0, -1).flatMap((one) => steps.get(one) ?? []), ...own.nodes];
  return {
    part: { nodes, edges: [...between, ...own.edges], stopAfter: id },
    given: line.filter((one) => !isPassed(one)),
    missing: missingBefore(graph, bodies, {
      id,
      isKnown: (one) => isPassed(one) || resultOf(one) !== undefined,
      begins,
    }),
    map: outermostMap(graph, kinds, around),
  };
}

/** The steps from which edges lead to a step, directly or by others. */
function stepsBefore({ edges }: EditedGraph, { returns }: Bodies, id: string): Set<string> {
  const arriving = Map.groupBy(
    edges.filter((edge) => !returns.has(edge.id)),
    ({ target }) => target,
  );
  const found = new Set((arriving.get(id) ?? []).map(({ source }) => source));
  // The loop over the Set also visits steps that are added meanwhile.
  for (const one of found) for (const { source } of arriving.get(one) ?? []) found.add(source);
  return found;
}

function outermostMap({ nodes }: EditedGraph, kinds: Kinds, around: readonly string[]): string | undefined {
  const isChunked = (id: string) => kinds[nodes.find((node) => node.id === id)?.type ?? '']?.isChunked;
  return around.findLast(isChunked);
}

/** These steps, each behind all those that lead to it; those in bodies behind the steps that repeat them. */
function inOrder({ nodes, edges }: EditedGraph, { returns }: Bodies, ids: ReadonlySet<string>): string[] {
  const leaving = Map.groupBy(
    edges.filter(({ id, target }) => !returns.has(id) && ids.has(target)),
    ({ source }) => source,
  );
  const open = new Map<string, number>();
  for (const list of leaving.values())
    for (const { source, target } of list) if (ids.has(source)) open.set(target, (open.get(target) ?? 0) + 1);
  const found = nodes.flatMap(({ id }) => (ids.has(id) && !open.has(id) ? [id] : []));
  for (const one of found)
    for (const { target } of leaving.get(one) ?? []) {
      const left = (open.get(target) ?? 0) - 1;
      open.set(target, left);
      if (left === 0) found.push(target);
    }
  return found;
}

interface Ways {
  id: string;
  isKnown: (id: string) => boolean;
  begins: (id: string) => boolean;
}

/** Steps whose results are not known, if one of them is on every way from the beginning to a step: the nearest to it. */
function missingBefore({ edges }: EditedGraph, { returns }: Bodies, { id, isKnown, begins }: Ways): string[] {
  const arriving = Map.groupBy(
    edges.filter((edge) => !returns.has(edge.id)),
    ({ target }) => target,
  );
  const sources = arriving.get(id) ?? [];
  if (sources.length === 0) return [];
  const known = new Set([id]);
  const missing = new Set<string>();
  // The loop over the Set also visits steps that are added meanwhile.
  for (const one of known) {
    const from = (arriving.get(one) ?? []).map(({ source }) => source);
    if (begins(one) || (one !== id && from.length === 0)) return [];
    for (const source of from) (isKnown(source) ? known : missing).add(source);
  }
  return [...missing];
}

/**
 * A part of a graph. Edges that lead out of it end in disabled steps: a step that is left by a connected exit does not act
 * as one that is left by an open one.
 */
function cutOut(
  { nodes, edges }: EditedGraph,
  kinds: Kinds,
  ids: ReadonlySet<string>,
): Pick<TestedPart, 'nodes' | 'edges'> {
  const passed = Object.values(kinds).find((kind) => kind.isPure && kind.usualExit !== null && !kind.begins);
  const ends: EditedStep[] = [];
  const own = edges.flatMap((edge): Edge[] => {
    const { id, source, target, sourceHandle } = edge;
    if (!ids.has(source)) return [];
    if (ids.has(target)) return [{ id, source, target, sourceHandle, more: {} }];
    const end = `test-end-${ends.length}`;
    ends.push({
      id: end,
      type: passed?.nodeType ?? '',
      data: { ...passed?.defaultValue, title: end, isDisabled: true },
      more: {},
    });
    return [{ id, source, target: end, sourceHandle, more: {} }];
  });
  return { nodes: [...nodes.filter(({ id }) => ids.has(id)), ...ends], edges: own };
}
