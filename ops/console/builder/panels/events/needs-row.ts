import { isObject } from '../../../ui/is-object.ts';
import type { Edit, PageDocument, WidgetDraft } from '../../document.ts';
import { setWidgetConfig } from '../../edits.ts';
import { namesOfWidgets, sourcesOf } from '../config.ts';
import { noneChosen } from '../values/chosen-rows.ts';

/** The tables of a page by their names in expressions. */
export function tablesIn(document: PageDocument): { name: string; title: string }[] {
  return [...namesOfWidgets(document)].flatMap(([key, name]) => {
    const widget = document.widgets[key];
    return widget?.type === 'table' ? [{ name, title: widget.title }] : [];
  });
}

/** The table whose chosen row actions need: they name it, or the data that they run do. */
export function tableOfRow(document: PageDocument, events: unknown): string | undefined {
  const own = JSON.stringify(events) ?? '';
  const run = sourcesOf(document.config).filter(({ alias }) => own.includes(`"alias":${JSON.stringify(alias)}`));
  const text = own + JSON.stringify(run.map(({ inputValues }) => inputValues));
  return tablesIn(document).find(({ name }) => text.includes(`widgets.${name}.selectedRow`))?.name;
}

export function propertiesOf(widget: WidgetDraft | undefined): Readonly<Record<string, unknown>> {
  const { properties } = widget?.config ?? {};
  return isObject(properties) ? properties : {};
}

export function withDisabled(key: string, isDisabled: string | undefined): Edit {
  return (document) => {
    const { isDisabled: _, ...others } = propertiesOf(document.widgets[key]);
    const properties = { ...others, ...(isDisabled !== undefined && { isDisabled }) };
    return setWidgetConfig(key, { properties })(document);
  };
}

/** A button whose actions have come to need a chosen row can be pressed only while there is one, unless that is said otherwise. */
export function offWithoutRow(before: PageDocument, after: PageDocument, key: string): PageDocument {
  const widget = after.widgets[key];
  const table = tableOfRow(after, widget?.config.events);
  if (widget?.type !== 'button' || table === undefined || propertiesOf(widget).isDisabled !== undefined) return after;
  if (tableOfRow(before, before.widgets[key]?.config.events) !== undefined) return after;
  return withDisabled(key, noneChosen(table))(after);
}
