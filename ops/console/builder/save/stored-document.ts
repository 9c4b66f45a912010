import type { PageDocument, WidgetDraft } from '../document.ts';

/** Ids that widgets have got by saving, by the provisional keys that they have as long as the builder is open. */
export type SavedIDs = Readonly<Record<string, string>>;

/** The document as it is stored: with the keys of widgets that have been saved. */
export function storedDocument(document: PageDocument, ids: SavedIDs): PageDocument {
  const keys = Object.entries(ids).map(([key, id]) => [key, storedKey(key, id)] as const);
  if (keys.length === 0) return document;
  const text = (given: string) => keys.reduce((now, [old, next]) => now.replaceAll(old, next), given);
  const renamed = <T>(value: T): T => JSON.parse(text(JSON.stringify(value)));
  const widgets = Object.values(document.widgets).map((widget): [string, WidgetDraft] => {
    const id = ids[widget.key] ?? widget.id;
    const key = ids[widget.key] === undefined ? widget.key : storedKey(widget.key, ids[widget.key] ?? '');
    return [key, { ...widget, key, ...(id !== undefined && { id }), config: renamed(widget.config) }];
  });
  return { ...document, config: renamed(document.config), widgets: Object.fromEntries(widgets) };
}

/** `widget_<id>_<name>`, with the name that the provisional key has. */
function storedKey(key: string, id: string): string {
  return key.replace(/^widget_[\da-f-]{36}/, `widget_${id}`);
}
