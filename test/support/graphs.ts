interface GraphJSON {
  nodes: { id: string; type: string; data: object }[];
  edges: { id: string; source: string; target: string; sourceHandle?: string }[];
}

/** Nodes as `id: { type, …config }`, edges as `from>to` or `from:exit>to`. */
export function graph(
  nodes: Record<string, { type: string; [field: string]: unknown }>,
  edges: readonly string[],
): GraphJSON {
  return {
    nodes: Object.entries(nodes).map(([id, { type, ...data }]) => ({ id, type, data })),
    edges: edges.map((text, index) => {
      const [, source = '', exit, target = ''] = /^([^:>]+)(?::([^>]+))?>(.+)$/.exec(text) ?? [];
      return { id: `e${index}`, source, target, ...(exit && { sourceHandle: exit }) };
    }),
  };
}

/** A node that does nothing: a condition that always leaves by `yes`. */
export const noop = {
  type: 'condition',
  branches: [{ id: 'yes', conditions: [{ operator: 'equals', leftValue: 1, rightValue: 1 }] }],
};

export function code(text: string, more: object = {}) {
  return { type: 'javascript', code: text, ...more };
}

/** start → n1 → … → nN, each a no-op. */
export function noops(count: number): GraphJSON {
  const ids = Array.from({ length: count }, (_, i) => `n${i + 1}`);
  return graph({ start: { type: 'start' }, ...Object.fromEntries(ids.map((id) => [id, noop])) }, [
    ...(ids[0] ? [`start>${ids[0]}`] : []),
    ...ids.slice(1).map((id, i) => `${ids[i]}:yes>${id}`),
  ]);
}
