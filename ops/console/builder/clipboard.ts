import { newID } from '../client/new-id.ts';
import { nodesBelow } from '../page/layout/identified.ts';
import { isObject } from '../ui/is-object.ts';
import type { PageDocument, Values, WidgetDraft } from './document.ts';
import { addWidget, keysOf, nameOf, newWidget } from './edits.ts';
import { findNode, type LayoutNode, layoutIn, type Position, widgetsIn, withNode } from './layout-edits.ts';

/** Parts of a page that are copied, as they stand in a text. */
export interface Copied {
  parts: readonly LayoutNode[];
  widgets: readonly CopiedWidget[];
}

interface CopiedWidget extends Pick<WidgetDraft, 'key' | 'title' | 'type' | 'config'> {
  /** The name by which expressions of the others read it. */
  name: string;
}

/** Copies parts with all in them: nodes of a page, or widgets of a dashboard. */
export function copiedParts(document: PageDocument, ids: readonly string[]): Copied {
  const layout = layoutIn(document.config);
  const parts = ids.map(
    (id) => (document.kind === 'app-page' && findNode(layout, id)) || { type: 'widget', widgetKey: id },
  );
  const keys = [...new Set(parts.flatMap(widgetsIn))];
  const widgets = keys.map((key): CopiedWidget | undefined => {
    const widget = document.widgets[key];
    return (
      widget && { key, name: nameOf(document, key), title: widget.title, type: widget.type, config: widget.config }
    );
  });
  return { parts, widgets: widgets.filter((widget) => widget !== undefined) };
}

/** Adds copies: new widgets, with names of their own, which those among them use of one another. Answers the ids of the parts too. */
export function withCopies(document: PageDocument, copied: Copied, position?: Position): [PageDocument, string[]] {
  const keys = new Map<string, string>();
  const names = new Map<string, string>();
  let named = document;
  const created = copied.widgets.map((widget) => {
    const copy = newWidget(named, widget);
    named = { ...named, config: { ...named.config, widgets: [...keysOf(named), copy.key] } };
    keys.set(widget.key, copy.key);
    names.set(widget.name, nameOf(named, copy.key));
    return copy;
  });
  const own = created.map((widget) => ({ ...widget, config: renamed(widget.config, { keys, names }) }));
  if (document.kind === 'dashboard')
    return [own.reduce((now, widget) => addWidget(widget)(now), document), own.map(({ key }) => key)];
  const parts = copied.parts.map((part) => withNewIDs(part, keys));
  const placed = parts.toReversed().reduce<Values>((config, part) => withNode(config, part, position), document.config);
  const widgets = { ...document.widgets, ...Object.fromEntries(own.map((widget) => [widget.key, widget])) };
  const config = { ...placed, widgets: [...keysOf(document), ...own.map(({ key }) => key)] };
  return [{ ...document, config, widgets }, parts.map(({ id }) => String(id))];
}

function withNewIDs(node: LayoutNode, keys: ReadonlyMap<string, string>): LayoutNode {
  const key = typeof node.widgetKey === 'string' ? keys.get(node.widgetKey) : undefined;
  const children = nodesBelow(node).map((child) => withNewIDs(child, keys));
  return {
    ...node,
    id: newID(),
    ...(key !== undefined && { widgetKey: key }),
    ...(children.length > 0 && { children }),
  };
}

interface Renaming {
  keys: ReadonlyMap<string, string>;
  names: ReadonlyMap<string, string>;
}

/** Texts that name a widget that was copied too name its copy. */
function renamed<T>(value: T, renaming: Renaming): T {
  const text = (given: string) => {
    const withKeys = [...renaming.keys].reduce((now, [old, next]) => now.replaceAll(old, next), given);
    return withKeys.replace(/\bwidgets\.([A-Za-z_]\w*)/g, (all, name: string) => {
      const next = renaming.names.get(name);
      return next === undefined ? all : `widgets.${next}`;
    });
  };
  const walk = (one: unknown): unknown => {
    if (typeof one === 'string') return text(one);
    if (Array.isArray(one)) return one.map(walk);
    return isObject(one) ? Object.fromEntries(Object.entries(one).map(([key, own]) => [key, walk(own)])) : one;
  };
  // Safe: the same shape with other texts.
  return walk(value) as T;
}

/** The parts in a text that was copied from a builder, or why there are none. */
export function partsIn(text: string): Copied | { refused: string } {
  const refused = { refused: 'What was copied are no parts of a page.' };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return refused;
  }
  if (!isObject(value) || !Array.isArray(value.parts) || !Array.isArray(value.widgets)) return refused;
  const widgets = value.widgets.filter(isObject).map(({ key, name, title, type, config }) => ({
    ...{ key: String(key), name: String(name), title: String(title), type: String(type) },
    config: isObject(config) ? config : {},
  }));
  const parts = value.parts.filter(isObject);
  return parts.length > 0 ? { parts, widgets } : refused;
}
