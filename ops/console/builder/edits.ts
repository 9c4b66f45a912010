import { newID } from '../client/new-id.ts';
import type { Edit, PageDocument, Values, WidgetDraft } from './document.ts';
import { withCell, withoutCell } from './grid-edits.ts';
import { findNode, layoutIn, nodeOfWidget, type Position, widgetsIn, withNode, withoutNode } from './layout-edits.ts';

/** Changes a widget at all its places: a page may show the same widget twice. */
export function setWidget(
  key: string,
  change: Partial<Pick<WidgetDraft, 'title' | 'config' | 'refreshInterval'>>,
): Edit {
  return (document) => {
    const id = document.widgets[key]?.id;
    const widgets = Object.values(document.widgets).map((widget): [string, WidgetDraft] => {
      const isIt = widget.key === key || (id !== undefined && widget.id === id);
      return [widget.key, isIt ? { ...widget, ...change } : widget];
    });
    return { ...document, widgets: Object.fromEntries(widgets) };
  };
}

/** Sets a part of a widget's config, such as `properties` or `events`; undefined removes it. */
export function setWidgetConfig(key: string, part: Values): Edit {
  return (document) => {
    const config = document.widgets[key]?.config;
    return config ? setWidget(key, { config: withPart(config, part) })(document) : document;
  };
}

/** Sets parts of the page's config, such as `variables` or `dataSources`; undefined removes one. */
export function setConfig(part: Values): Edit {
  return (document) => ({ ...document, config: withPart(document.config, part) });
}

export function setPage(change: { title?: string; description?: string }): Edit {
  return (document) => ({ ...document, ...change });
}

/** A new widget, with a key whose end is free on the page: expressions read it by that name. */
export function newWidget(document: PageDocument, given: Pick<WidgetDraft, 'title' | 'type' | 'config'>): WidgetDraft {
  const { title, type, config } = given;
  return { key: `widget_${newID()}_${freeName(document, type)}`, title, type, config, refreshInterval: 0 };
}

/** A widget of the tenant, which is already stored, at a position of this page. */
export function placedWidget(
  document: PageDocument,
  widget: Omit<WidgetDraft, 'key'> & { id: string },
): WidgetDraft & { id: string } {
  return { ...widget, key: `widget_${widget.id}_${freeName(document, widget.type)}` };
}

/** Adds a widget to the page: at a position of the layout, or behind all others. */
export function addWidget(widget: WidgetDraft, position?: Position): Edit {
  return (document) => {
    const { config } = document;
    const widgets = [...keysOf(document), widget.key];
    const placed =
      document.kind === 'dashboard'
        ? withCell(config, widget.key)
        : withNode(config, { id: newID(), type: 'widget', widgetKey: widget.key }, position);
    return {
      ...document,
      config: { ...placed, widgets },
      widgets: { ...document.widgets, [widget.key]: widget },
    };
  };
}

/** Takes a widget off the page, with what its tabs show. The widget itself stays: other pages, and earlier versions, may show it. */
export function removeWidget(key: string): Edit {
  return (document) => {
    if (document.kind === 'dashboard') return dropWidgets(document, withoutCell(document.config, key), [key]);
    const node = nodeOfWidget(layoutIn(document.config), key);
    return node ? removePart(String(node.id))(document) : dropWidgets(document, document.config, [key]);
  };
}

/** Takes a part of the layout off the page, with the widgets in it. */
export function removePart(id: string): Edit {
  return (document) => {
    const node = findNode(layoutIn(document.config), id);
    return node ? dropWidgets(document, withoutNode(document.config, id), widgetsIn(node)) : document;
  };
}

function dropWidgets(document: PageDocument, config: Values, dropped: readonly string[]): PageDocument {
  const removed = new Set(dropped);
  const widgets = Object.entries(document.widgets).filter(([key]) => !removed.has(key));
  const keys = keysOf(document).filter((key) => !removed.has(key));
  return { ...document, widgets: Object.fromEntries(widgets), config: { ...config, widgets: keys } };
}

export function keysOf({ config: { widgets } }: Pick<PageDocument, 'config'>): string[] {
  return Array.isArray(widgets) ? widgets.filter((key) => typeof key === 'string') : [];
}

/** The name by which expressions read a widget: the end of its key where no other has it, else the whole key. */
export function nameOf(document: PageDocument, key: string): string {
  const end = endOf(key);
  return end !== undefined && keysOf(document).filter((one) => endOf(one) === end).length === 1 ? end : key;
}

function endOf(key: string): string | undefined {
  return /^widget_[\da-f-]{36}_(.+)$/i.exec(key)?.[1];
}

function freeName(document: PageDocument, type: string): string {
  const taken = new Set(keysOf(document).map(endOf));
  // A part of a path in expressions: `widgets.text_input1`.
  const base = type.replace(/\W+/g, '_');
  let number = 1;
  while (taken.has(`${base}${number}`)) number += 1;
  return `${base}${number}`;
}

function withPart(config: Values, part: Values): Values {
  return Object.fromEntries(Object.entries({ ...config, ...part }).filter(([, value]) => value !== undefined));
}
