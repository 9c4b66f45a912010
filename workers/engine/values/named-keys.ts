import type { Graph, GraphNode } from '#shared/workflow/graph/graph.ts';
import { templatesOf } from '#shared/workflow/graph/variable-uses.ts';
import type { Snippet } from '#shared/workflow/nodes/define-node.ts';
import { isPure } from '#shared/workflow/nodes/properties.ts';
import { expressionsOf } from '#shared/workflow/templates/expressions.ts';
import type { Keys } from '../state/scopes.ts';

const known = new WeakMap<GraphNode, Keys>();

/** The keys of `ctx` that the templates and fields of a node name. Its code may name more: see `namedKeys`. */
export function keysInConfig(node: GraphNode): Keys {
  let keys = known.get(node);
  if (keys === undefined) {
    keys = findKeys(node);
    known.set(node, keys);
  }
  return keys;
}

function findKeys({ definition, data, config }: GraphNode): Keys {
  const read = definition.reads ? definition.reads(config) : [];
  if (read === null) return 'all';
  const keys = new Set(read);
  for (const { template } of templatesOf(definition, data))
    for (const { root, fault, keys: path } of expressionsOf(template)) {
      if (root !== 'ctx' || fault !== null) continue;
      if (path[0] === undefined) return 'all';
      keys.add(String(path[0]));
    }
  return keys;
}

/** The keys of `ctx` that a node may read, including those that its code names. */
export async function namedKeys(node: GraphNode): Promise<Keys> {
  const { definition, data, config } = node;
  const named = keysInConfig(node);
  if (named === 'all' || !definition.snippets || isPure(definition, config)) return named;
  const snippets = definition.snippets(data);
  // The code comes from a template, so it is known only when the node runs.
  if (snippets.length === 0) return 'all';
  const { keysOf } = await import('../../nodes/context-keys.ts');
  const inCode = snippets.map(({ form, text }: Snippet) => (form === 'body' ? keysOf(text) : null));
  return inCode.reduce<Keys>((all, keys) => (all === 'all' || keys === null ? 'all' : all.union(keys)), named);
}

/** The keys of `ctx` around a node that its body may read. */
export async function keysInBody(graph: Graph, body: number): Promise<Keys> {
  let all: Keys = new Set<string>();
  for (const node of graph.nodes) {
    if (!isInRegion(graph, node, body)) continue;
    const named = await namedKeys(node);
    if (named === 'all') return 'all';
    all = all.union(named);
  }
  return all;
}

/** Whether a node lies in a body, or in a body inside of it. */
function isInRegion({ nodes, regions }: Graph, { region }: GraphNode, body: number): boolean {
  let ancestor: number | undefined = region;
  while (ancestor !== undefined && ancestor !== body) {
    const container: number | null = regions[ancestor]?.container ?? null;
    ancestor = container === null ? undefined : nodes[container]?.region;
  }
  return ancestor === body;
}
