import { nodesBelow } from '../page/layout/identified.ts';
import type { Edit, PageDocument, Values } from './document.ts';
import {
  findNode,
  type LayoutNode,
  layoutIn,
  nodeOfWidget,
  type Position,
  positionOf,
  withMoved,
  withNodeFields,
  withUnwrapped,
  withWrapped,
} from './layout-edits.ts';

/** Types of parts that hold others, with the words of the builder. */
export const sections = {
  row: { word: 'Row', sentence: 'Parts side by side, in twelve columns' },
  column: { word: 'Column', sentence: 'Parts below one another' },
  container: { word: 'Box', sentence: 'Parts below one another, with a border around them' },
  stack: { word: 'Stack', sentence: 'Parts one after the other, each as large as it needs to be' },
  'z-stack': { word: 'Layers', sentence: 'Parts that lie over one another' },
} as const;
export type Section = keyof typeof sections;

export function isSection(type: unknown): type is Section {
  return typeof type === 'string' && Object.hasOwn(sections, type);
}

/** The part of the page that is chosen: a node of the layout, or a widget that no node places. */
export interface ChosenPart {
  id: string;
  /** The key of the widget, if it is one. */
  widgetKey: string | undefined;
  node: LayoutNode | undefined;
  position: Position | undefined;
  parent: LayoutNode | undefined;
}

/** Finds a part by the id of a node or the key of a widget. */
export function partOf(document: PageDocument, id: string): ChosenPart | undefined {
  if (document.kind === 'dashboard')
    return document.widgets[id] && { id, widgetKey: id, node: undefined, position: undefined, parent: undefined };
  const layout = layoutIn(document.config);
  const node = findNode(layout, id) ?? nodeOfWidget(layout, id);
  if (!node)
    return document.widgets[id] && { id, widgetKey: id, node: undefined, position: undefined, parent: undefined };
  const position = positionOf(layout, String(node.id));
  const widgetKey = node.type === 'widget' && typeof node.widgetKey === 'string' ? node.widgetKey : undefined;
  return { id: String(node.id), widgetKey, node, position, parent: position && findNode(layout, position.parentID) };
}

/** The id of the node that places a widget, by its key; other ids are those of nodes already. */
export function nodeIDOf(document: PageDocument, id: string): string {
  return partOf(document, id)?.id ?? id;
}

export function nameOfPart(document: PageDocument, id: string): string {
  const part = partOf(document, id);
  if (part?.widgetKey !== undefined) return document.widgets[part.widgetKey]?.title ?? 'A widget that is gone';
  if (!part?.position) return 'The whole page';
  return isSection(part.node?.type) ? sections[part.node.type].word : sections.column.word;
}

/** Whether other parts may be put into this one. */
export function mayHold(document: PageDocument, node: LayoutNode | undefined): boolean {
  if (!node) return false;
  if (node.type !== 'widget') return true;
  return typeof node.widgetKey === 'string' && document.widgets[node.widgetKey]?.type === 'tabs';
}

/** The position for what is added next: inside a part that holds others, else behind the part; undefined: at the end. */
export function positionAfter(document: PageDocument, id: string | undefined): Position | undefined {
  const part = id === undefined ? undefined : partOf(document, id);
  if (!part?.node) return undefined;
  if (part.node.type !== 'widget' && mayHold(document, part.node))
    return { parentID: part.id, index: nodesBelow(part.node).length };
  return part.position && { ...part.position, index: part.position.index + 1 };
}

export type Move = 'before' | 'after' | 'into' | 'out';

/** Where a part goes by one step; undefined where there is nothing in that direction. */
export function stepOf(document: PageDocument, id: string, move: Move): Position | undefined {
  const { position, parent } = partOf(document, id) ?? {};
  if (!position || !parent) return undefined;
  const siblings = nodesBelow(parent);
  const { parentID, index } = position;
  if (move === 'before') return index > 0 ? { parentID, index: index - 1 } : undefined;
  if (move === 'after') return index < siblings.length - 1 ? { parentID, index: index + 2 } : undefined;
  if (move === 'out') {
    const around = partOf(document, parentID)?.position;
    return around && { parentID: around.parentID, index: around.index + 1 };
  }
  const before = siblings[index - 1];
  if (mayHold(document, before) && before) return { parentID: String(before.id), index: nodesBelow(before).length };
  const after = siblings[index + 1];
  return after && mayHold(document, after) ? { parentID: String(after.id), index: 0 } : undefined;
}

/** Moves a part. Its width and its tab are those of the position that it leaves. */
export function moveTo(id: string, position: Position): Edit {
  return (document) => {
    const before = partOf(document, id);
    const moved = withMoved(document.config, id, position);
    if (!before?.position || moved === document.config) return document;
    const isSameParent = before.position.parentID === position.parentID;
    return {
      ...document,
      config: isSameParent ? moved : withNodeFields(moved, id, { span: undefined, tab: undefined }),
    };
  };
}

/** Puts a part beside another one, by a new row or column around both. */
export function moveBeside(id: string, { otherID, type, isBefore }: Beside): Edit {
  return (document) => {
    const other = partOf(document, otherID);
    if (!other?.position || other.id === id) return document;
    const around = withWrapped(document.config, [otherID], type);
    const index = isBefore ? 0 : 1;
    return moveTo(id, { parentID: around.id, index })({ ...document, config: around.config });
  };
}

export interface Beside {
  otherID: string;
  /** The type of the new part around both. */
  type: 'row' | 'column';
  isBefore: boolean;
}

export function setPart(id: string, fields: Values): Edit {
  return (document) => ({ ...document, config: withNodeFields(document.config, id, fields) });
}

/** Those of some parts that lie in none of the others, in the order of the page. */
export function outermost(document: PageDocument, ids: Iterable<string>): string[] {
  const wanted = new Set(ids);
  const found: string[] = [];
  const visit = (node: LayoutNode) => {
    if (wanted.has(String(node.id))) found.push(String(node.id));
    else for (const child of nodesBelow(node)) visit(child);
  };
  visit(layoutIn(document.config));
  return found;
}

/** Puts a part around others. Answers its id too. */
export function wrap(document: PageDocument, ids: readonly string[], type: Section): [PageDocument, string] {
  const { config, id } = withWrapped(document.config, ids, type);
  return [{ ...document, config }, id];
}

export function unwrap(id: string): Edit {
  return (document) => ({ ...document, config: withUnwrapped(document.config, id) });
}

export const COLUMNS = 12;

/** The width of a part in columns of twelve; undefined: its share of the row. */
export function spanOf(node: LayoutNode | undefined): number | undefined {
  const { span } = node ?? {};
  return typeof span === 'number' ? Math.min(Math.max(Math.round(span), 1), COLUMNS) : undefined;
}
