import { newID } from '../client/new-id.ts';
import { identified, nodesBelow } from '../page/layout/identified.ts';
import { isObject } from '../ui/is-object.ts';
import type { Values } from './document.ts';

/** A node of a layout as it is stored, with fields that the builder does not know. */
export type LayoutNode = Values;

/** A position in a layout: before the child with this index. */
export interface Position {
  parentID: string;
  index: number;
}

/** The layout as it is edited: each node has an id. A page without one has its widgets below one another. */
export function layoutIn(config: Values): LayoutNode {
  const known = layouts.get(config);
  if (known) return known;
  const layout = readLayout(config);
  layouts.set(config, layout);
  return layout;
}

/** Each part of a page asks for it. */
const layouts = new WeakMap<Values, LayoutNode>();

function readLayout({ layout, widgets }: Values): LayoutNode {
  if (isObject(layout)) {
    const root = identified(layout);
    return root.type === 'widget' ? { id: newRootID(root), type: 'column', children: [root] } : root;
  }
  const keys = Array.isArray(widgets) ? [...new Set(widgets.filter((key) => typeof key === 'string'))] : [];
  return { id: 'root', type: 'column', children: keys.map((key) => ({ id: key, type: 'widget', widgetKey: key })) };
}

function newRootID({ id }: LayoutNode): string {
  return id === 'root' ? 'page' : 'root';
}

/** The config with another layout. */
export function withLayout(config: Values, layout: LayoutNode): Values {
  if (layout === config.layout) return config;
  return { ...config, ...(!isObject(config.layout) && { layoutVersion: config.layoutVersion ?? 2 }), layout };
}

export function findNode(layout: LayoutNode, id: string): LayoutNode | undefined {
  if (layout.id === id) return layout;
  for (const child of nodesBelow(layout)) {
    const found = findNode(child, id);
    if (found) return found;
  }
  return undefined;
}

/** The position of a node; undefined for the root. */
export function positionOf(layout: LayoutNode, id: string): Position | undefined {
  const children = childrenOf(layout);
  const index = children.findIndex((child) => isObject(child) && child.id === id);
  if (index !== -1) return { parentID: String(layout.id), index };
  for (const child of nodesBelow(layout)) {
    const found = positionOf(child, id);
    if (found) return found;
  }
  return undefined;
}

/** The node that places a widget. */
export function nodeOfWidget(layout: LayoutNode, key: string): LayoutNode | undefined {
  if (layout.type === 'widget' && layout.widgetKey === key) return layout;
  for (const child of nodesBelow(layout)) {
    const found = nodeOfWidget(child, key);
    if (found) return found;
  }
  return undefined;
}

/** The keys of the widgets that a part of a layout places, with its own. */
export function widgetsIn(node: LayoutNode): string[] {
  const own = node.type === 'widget' && typeof node.widgetKey === 'string' ? [node.widgetKey] : [];
  return [...own, ...nodesBelow(node).flatMap(widgetsIn)];
}

/** Adds a node at a position, or behind all others. */
export function withNode(config: Values, node: LayoutNode, position?: Position): Values {
  const layout = layoutIn(config);
  const { parentID, index } = position ?? { parentID: String(layout.id), index: Number.POSITIVE_INFINITY };
  return withLayout(
    config,
    changed(layout, parentID, (parent) => withRoom(withChildren(parent, childrenOf(parent).toSpliced(index, 0, node)))),
  );
}

const COLUMNS = 12;

/** A row whose parts do not fit side by side any more shares its width anew. */
function withRoom(parent: LayoutNode): LayoutNode {
  const children = nodesBelow(parent);
  const taken = children.reduce((sum, { span }) => sum + (typeof span === 'number' ? span : 1), 0);
  if (parent.type !== 'row' || children.length > COLUMNS || taken <= COLUMNS) return parent;
  const shared = childrenOf(parent).map((child) => {
    const { span: _span, ...node } = isObject(child) ? child : {};
    return isObject(child) ? node : child;
  });
  return withChildren(parent, shared);
}

/** Takes a part with all in it out of the layout; the root stays. */
export function withoutNode(config: Values, id: string): Values {
  return withLayout(config, without(layoutIn(config), id));
}

function without(node: LayoutNode, id: string): LayoutNode {
  const before = childrenOf(node);
  const children = before
    .filter((child) => !(isObject(child) && child.id === id))
    .map((child) => (isObject(child) ? without(child, id) : child));
  const isSame = children.length === before.length && children.every((child, at) => child === before[at]);
  return isSame ? node : withChildren(node, children);
}

/** Changes fields of a node; undefined removes one. */
export function withNodeFields(config: Values, id: string, change: Values): Values {
  return withLayout(
    config,
    changed(layoutIn(config), id, (node) =>
      Object.fromEntries(Object.entries({ ...node, ...change }).filter(([, value]) => value !== undefined)),
    ),
  );
}

/** Moves a part. The position is one of before the move; one inside the part itself changes nothing. */
export function withMoved(config: Values, id: string, position: Position): Values {
  const layout = layoutIn(config);
  const node = findNode(layout, id);
  const from = positionOf(layout, id);
  if (!node || !from || findNode(node, position.parentID)) return config;
  const isBehind = from.parentID === position.parentID && from.index < position.index;
  const index = isBehind ? position.index - 1 : position.index;
  if (from.parentID === position.parentID && from.index === index) return config;
  return withNode(withLayout(config, without(layout, id)), node, { parentID: position.parentID, index });
}

/** Puts a part of this type around others, in the position of the first of them. Answers its id too. */
export function withWrapped(config: Values, ids: readonly string[], type: string): { config: Values; id: string } {
  const layout = layoutIn(config);
  const [first = ''] = ids;
  const position = positionOf(layout, first);
  if (!position) return { config, id: first };
  const inside = ids.map((one) => findNode(layout, one)).filter((node) => node !== undefined);
  const span = inside.length === 1 ? inside[0]?.span : undefined;
  // A width counts in the row around it, and so belongs to the new part.
  const children = span === undefined ? inside : inside.map(({ span: _span, ...node }) => node);
  const id = newID();
  const around = { id, type, ...(span !== undefined && { span }) };
  const emptied = ids.reduce(withoutNode, withNode(withLayout(config, layout), around, position));
  return { config: withNodeFields(emptied, id, { children }), id };
}

/** Takes a part away and leaves what is in it in its position. */
export function withUnwrapped(config: Values, id: string): Values {
  const layout = layoutIn(config);
  const position = positionOf(layout, id);
  const node = findNode(layout, id);
  if (!position || !node) return config;
  return withLayout(
    config,
    changed(layout, position.parentID, (parent) =>
      withChildren(parent, childrenOf(parent).toSpliced(position.index, 1, ...childrenOf(node))),
    ),
  );
}

function changed(node: LayoutNode, id: string, change: (node: LayoutNode) => LayoutNode): LayoutNode {
  if (node.id === id) return change(node);
  const before = childrenOf(node);
  const children = before.map((child) => (isObject(child) ? changed(child, id, change) : child));
  return children.every((child, at) => child === before[at]) ? node : withChildren(node, children);
}

function childrenOf({ children }: LayoutNode): readonly unknown[] {
  return Array.isArray(children) ? children : [];
}

function withChildren(node: LayoutNode, children: readonly unknown[]): LayoutNode {
  return { ...node, children };
}
