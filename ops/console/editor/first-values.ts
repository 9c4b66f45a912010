import { nodesBefore } from '#shared/workflow/graph/nodes-before.ts';
import type { NodeSteps } from '../client/run-steps.ts';
import type { Kinds } from '../graph/kinds.ts';
import { resultName } from '../graph/result-name.ts';
import { bodiesAround, bodiesOf } from '../graph/shape.ts';
import { isObject } from '../ui/is-object.ts';
import { type Config, type Draft, withConfig } from './draft.ts';

/**
 * The config of a new step names an input as an example. One that the workflow does not declare is taken out of it; a step that repeats
 * others begins with the nearest list before it.
 */
export function withFirstValues(draft: Draft, kinds: Kinds, id: string, tested: ReadonlyMap<string, NodeSteps>): Draft {
  const node = draft.nodes.find((one) => one.id === id);
  if (!node) return draft;
  const declared = new Set(declaredNames(draft.options.inputDefinitions));
  const repeats = kinds[node.type]?.bodyExit != null;
  const list = repeats ? nearestList(draft, kinds, id, tested) : undefined;
  const source = list && { sourceVariable: `{{ctx.${list}}}` };
  return withConfig(draft, id, { ...(withoutExamples(node.data, declared) as Config), ...source });
}

function declaredNames(definitions: unknown): string[] {
  const rows: unknown[] = Array.isArray(definitions) ? definitions : [];
  return rows.flatMap((row) => (isObject(row) && typeof row.key === 'string' ? [row.key] : []));
}

/** Texts that are one input and no more: those that no run has become empty. */
function withoutExamples(value: unknown, declared: ReadonlySet<string>): unknown {
  if (typeof value === 'string') {
    const name = /^\{\{ctx\.input\.(\w+)\}\}$/.exec(value)?.[1];
    return name === undefined || declared.has(name) ? value : '';
  }
  if (Array.isArray(value)) return value.map((one) => withoutExamples(one, declared));
  if (!isObject(value)) return value;
  const rest = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withoutExamples(one, declared)]));
  // The other side of a comparison is an example for that input.
  return 'rightValue' in rest && rest.leftValue !== value.leftValue ? { ...rest, rightValue: '' } : rest;
}

/** The name of the nearest result before a step that was a list in the last test, else of the nearest that no test has had. */
function nearestList(
  draft: Draft,
  kinds: Kinds,
  id: string,
  tested: ReadonlyMap<string, NodeSteps>,
): string | undefined {
  const bodies = bodiesOf(draft, kinds);
  const arriving = Map.groupBy(
    draft.edges.filter((edge) => !bodies.returns.has(edge.id)),
    ({ target }) => target,
  );
  const before = nodesBefore(id, { sourcesOf: (one) => (arriving.get(one) ?? []).map(({ source }) => source) });
  const around = new Set(bodiesAround(id, bodies));
  const results = [...before].flatMap((one) => {
    const node = draft.nodes.find((other) => other.id === one);
    const name = node && !around.has(one) ? resultName(kinds[node.type], node.data) : undefined;
    return name === undefined ? [] : [{ name, value: outputIn(tested, one, name) }];
  });
  const best = results.find(({ value }) => Array.isArray(value)) ?? results.find(({ value }) => value === undefined);
  return best?.name;
}

function outputIn(tested: ReadonlyMap<string, NodeSteps>, id: string, name: string): unknown {
  const output = tested.get(id)?.shown.last.output;
  return isObject(output) ? output[name] : undefined;
}
