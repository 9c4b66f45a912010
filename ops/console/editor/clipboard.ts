import type { Kinds } from '../graph/kinds.ts';
import { COLUMN } from '../graph/lay-out.ts';
import { resultName } from '../graph/result-name.ts';
import { bodiesOf, withBody } from '../graph/shape.ts';
import { isObject } from '../ui/is-object.ts';
import { bodyOf, type Config, type Draft, type DraftNode, draftOf, freeEdgeID, freeID } from './draft.ts';
import { arranged, asNew, tidied } from './edits.ts';

/** Steps with all that lies in their bodies, and the edges between them; steps that begin runs are left out. */
export function chosenSteps({ nodes, edges }: Draft, kinds: Kinds, ids: ReadonlySet<string>): Draft {
  const bodies = bodiesOf({ nodes, edges }, kinds);
  const all = new Set([...ids].flatMap((id) => withBody(id, bodies)));
  const chosen = nodes.filter(({ id, type }) => all.has(id) && !kinds[type]?.begins);
  const inside = new Set(chosen.map(({ id }) => id));
  const between = edges.filter(({ source, target }) => inside.has(source) && inside.has(target));
  return { nodes: chosen, edges: between, notes: [], options: {} };
}

/** Chosen steps as JSON that can be pasted here or elsewhere. */
export function copied(draft: Draft, kinds: Kinds, ids: ReadonlySet<string>): string {
  return JSON.stringify(bodyOf(chosenSteps(draft, kinds, ids)), null, 2);
}

/** Adds steps with ids, titles and results of their own; returns their ids. References between them lead to the new ones. */
export function withCopies(draft: Draft, kinds: Kinds, added: Draft): [Draft, string[]] {
  const isArranged = draft.nodes.some(({ position }) => position);
  const base = isArranged ? arranged(draft, kinds) : draft;
  const source = isArranged ? arranged(added, kinds) : tidied(added);
  const offset = offsetOf(source, base);
  const nodes: DraftNode[] = [...base.nodes];
  const ids = new Map<string, string>();
  const results = new Map<string, string>();
  for (const node of source.nodes) {
    const id = freeID({ nodes }, node.type);
    const data = asNew({ nodes }, kinds, kinds[node.type], node.data);
    ids.set(node.id, id);
    const [before, after] = [node.data, data].map((config) => resultName(kinds[node.type], config));
    if (before !== undefined && after !== undefined && before !== after) results.set(before, after);
    const position = node.position && { ...node.position, x: node.position.x + offset };
    nodes.push({ ...node, id, data, position });
  }
  const renamed = nodes.map((node, index) =>
    index < base.nodes.length ? node : { ...node, data: withNames(node.data, results) as Config },
  );
  let next: Draft = { ...base, nodes: renamed };
  for (const { source: from, target: to, sourceHandle, more } of source.edges) {
    const [own, target] = [ids.get(from), ids.get(to)];
    if (own === undefined || target === undefined) continue;
    const edge = { id: freeEdgeID(next), source: own, target, sourceHandle, more };
    next = { ...next, edges: [...next.edges, edge] };
  }
  return [next, [...ids.values()]];
}

/** How far copies are moved to stand to the right of all steps that are there. */
function offsetOf(added: Draft, { nodes }: Draft): number {
  const points = added.nodes.flatMap(({ position }) => position ?? []);
  if (points.length === 0) return 0;
  const left = Math.min(...points.map(({ x }) => x));
  const right = Math.max(...nodes.map(({ position }) => position?.x ?? 0));
  return right + COLUMN - left;
}

/** Texts that read a result by its old name read it by its new one. */
function withNames(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (names.size === 0) return value;
  if (typeof value === 'string')
    return value.replace(/\bctx\.([A-Za-z_]\w*)/g, (all, name: string) => {
      const next = names.get(name);
      return next === undefined ? all : `ctx.${next}`;
    });
  if (Array.isArray(value)) return value.map((one) => withNames(one, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withNames(one, names)]));
}

/** Why a text cannot be pasted, or the steps that it holds. */
export function stepsIn(text: string, kinds: Kinds): { steps: Draft } | { refused: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { refused: 'The text is no JSON of steps.' };
  }
  const given = Array.isArray(value) ? { workflowNodes: value } : (value as Record<string, unknown> | null);
  const isStep = typeof given?.type === 'string';
  const nodes = isStep ? [given] : (given?.workflowNodes ?? given?.nodes);
  const edges = given?.workflowEdges ?? given?.edges ?? [];
  if (!Array.isArray(nodes) || !Array.isArray(edges) || nodes.length === 0)
    return {
      refused: 'The JSON has no steps: a list `workflowNodes` was expected, each with `id`, `type` and `data`.',
    };
  const unknown = nodes.find((node) => typeof node?.type !== 'string' || !Object.hasOwn(kinds, node.type));
  if (unknown !== undefined) return { refused: `There is no kind of step “${String(unknown?.type)}”.` };
  const steps = nodes.flatMap((node, index) => {
    const { begins, defaultValue } = kinds[node.type] ?? {};
    if (begins) return [];
    return {
      ...node,
      id: String(node.id ?? `${node.type}-${index}`),
      data: isObject(node.data) ? node.data : defaultValue,
    };
  });
  return { steps: draftOf({ workflowNodes: steps, workflowEdges: edges }) };
}
