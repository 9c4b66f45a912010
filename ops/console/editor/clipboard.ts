import type { Kinds } from '../graph/kinds.ts';
import { COLUMN } from '../graph/lay-out.ts';
import { bodiesOf, withBody } from '../graph/shape.ts';
import type { Point } from '../graph/shown.ts';
import { type Config, type Draft, type DraftNode, freeEdgeID, freeID } from './draft.ts';
import { arranged, asNew, tidied } from './edits.ts';

/** Steps and the edges between them, as JSON that can be pasted here or elsewhere. */
export function copied(
  { nodes, edges }: Pick<Draft, 'nodes' | 'edges'>,
  kinds: Kinds,
  ids: ReadonlySet<string>,
): string {
  const bodies = bodiesOf({ nodes, edges }, kinds);
  const all = new Set([...ids].flatMap((id) => withBody(id, bodies)));
  const chosen = nodes.filter(({ id, type }) => all.has(id) && !kinds[type]?.begins);
  const inside = new Set(chosen.map(({ id }) => id));
  return JSON.stringify(
    {
      workflowNodes: chosen.map(({ more, position, ...node }) => ({ ...more, ...node, ...(position && { position }) })),
      workflowEdges: edges
        .filter(({ source, target }) => inside.has(source) && inside.has(target))
        .map(({ more, sourceHandle, ...edge }) => ({
          ...more,
          ...edge,
          ...(sourceHandle !== null && { sourceHandle }),
        })),
    },
    null,
    2,
  );
}

/** Adds steps with ids, titles and results of their own; returns their ids. References between them lead to the new ones. */
export function withCopies(draft: Draft, kinds: Kinds, added: Draft, at?: Point): [Draft, string[]] {
  const isArranged = at !== undefined || draft.nodes.some(({ position }) => position);
  const base = isArranged ? arranged(draft, kinds) : draft;
  const source = isArranged ? arranged(added, kinds) : tidied(added);
  const offset = offsetOf(source, base, at);
  const nodes: DraftNode[] = [...base.nodes];
  const ids = new Map<string, string>();
  const results = new Map<string, string>();
  for (const node of source.nodes) {
    const id = freeID({ nodes }, node.type);
    const data = asNew({ nodes }, node.data);
    ids.set(node.id, id);
    const [before, after] = [node.data.outputVariable, data.outputVariable];
    if (typeof before === 'string' && typeof after === 'string' && before !== after) results.set(before, after);
    const position = node.position && { x: node.position.x + offset.x, y: node.position.y + offset.y };
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

/** Copies are a little beside what they are copies of, or where a person wants them. */
function offsetOf(added: Draft, { nodes }: Draft, at: Point | undefined): Point {
  const points = added.nodes.flatMap(({ position }) => position ?? []);
  const corner = { x: Math.min(...points.map(({ x }) => x)), y: Math.min(...points.map(({ y }) => y)) };
  if (points.length === 0) return { x: 0, y: 0 };
  if (at) return { x: at.x - corner.x, y: at.y - corner.y };
  const right = Math.max(...nodes.map(({ position }) => position?.x ?? 0));
  return { x: right + COLUMN - corner.x, y: 0 };
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
  const numbered = nodes.map((node, index) => ({ ...node, id: String(node.id ?? `${node.type}-${index}`) }));
  return { steps: pasted(numbered, edges, kinds) };
}

function pasted(workflowNodes: object[], workflowEdges: object[], kinds: Kinds): Draft {
  const nodes = workflowNodes.flatMap((node): DraftNode[] => {
    const { id, type, data, position, ...more } = node as Record<string, unknown> & { id: string; type: string };
    if (kinds[type]?.begins) return [];
    const config = typeof data === 'object' && data !== null ? (data as Config) : (kinds[type]?.defaultValue as Config);
    return [{ id, type, data: config ?? {}, position: position as Point | undefined, more }];
  });
  const edges = workflowEdges.flatMap((edge) => {
    const { id, source, target, sourceHandle, ...more } = edge as Record<string, unknown>;
    const handle = typeof sourceHandle === 'string' ? sourceHandle : null;
    return [{ id: String(id), source: String(source), target: String(target), sourceHandle: handle, more }];
  });
  return { nodes, edges, notes: [] };
}
