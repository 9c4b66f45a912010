import { isObject } from '../../ui/is-object.ts';

type Node = Readonly<Record<string, unknown>>;

/** Nodes below that are not drawn. */
export const MAX_DEPTH = 40;

/** The layout with an id at each node: its own if no node before has it, else one of its position. */
export function identified(layout: Node): Node {
  const owners = new Map<string, Node>();
  claimIDs(layout, owners, 0);
  return withIDs(layout, { owners, path: 'root', depth: 0 });
}

function claimIDs(node: Node, owners: Map<string, Node>, depth: number): void {
  const { id } = node;
  if (typeof id === 'string' && id !== '' && !owners.has(id)) owners.set(id, node);
  if (depth < MAX_DEPTH) for (const child of nodesBelow(node)) claimIDs(child, owners, depth + 1);
}

interface At {
  /** The node that each id belongs to. */
  owners: Map<string, Node>;
  path: string;
  depth: number;
}

function withIDs(node: Node, { owners, path, depth }: At): Node {
  const id = typeof node.id === 'string' && owners.get(node.id) === node ? node.id : freeID(path, owners);
  owners.set(id, node);
  const below = Array.isArray(node.children) && depth < MAX_DEPTH ? node.children : [];
  const next = below.map((child, at) =>
    isObject(child) ? withIDs(child, { owners, path: `${path}.${at}`, depth: depth + 1 }) : child,
  );
  const isSame = next.every((child, at) => child === below[at]);
  if (isSame && id === node.id) return node;
  return { ...node, id, ...(!isSame && { children: next }) };
}

function freeID(path: string, owners: ReadonlyMap<string, Node>): string {
  let id = path;
  while (owners.has(id)) id = `${id}~`;
  return id;
}

export function nodesBelow({ children }: Node): readonly Node[] {
  return Array.isArray(children) ? children.filter(isObject) : [];
}
