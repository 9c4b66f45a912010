import { createContext, useCallback, useContext, useSyncExternalStore } from 'react';
import type { Outcome } from '../bindings/compile.ts';
import type { PlacedWidget } from '../state/client.ts';
import { type PageContent, propertiesID } from '../state/page-content.ts';
import type { PageState } from '../state/page-state.ts';
import type { SourceState } from '../state/source.ts';
import type { Store } from '../state/store.ts';

export const PageContext = createContext<PageState | null>(null);

export function usePage(): PageState {
  const page = useContext(PageContext);
  if (!page) throw new Error('A widget is drawn outside of a page');
  return page;
}

/** The content of the page, which is another one after each change while it is edited. */
export function useContent(): PageContent {
  return useStore(usePage().content);
}

export function useDataSources(): unknown {
  const { content } = usePage();
  return useSyncExternalStore(content.subscribe, () => content.get().config.dataSources);
}

export function useWidget(key: string): PlacedWidget | undefined {
  const page = usePage();
  return useSyncExternalStore(page.content.subscribe, () => page.widget(key));
}

export function useStore<T>(store: Store<T>): T {
  return useSyncExternalStore(store.subscribe, store.get);
}

/** The properties of a widget with the values of their expressions. */
export function useProperties(widgetKey: string): Outcome {
  const { bindings } = usePage();
  const id = propertiesID(widgetKey);
  const subscribe = useCallback((listener: () => void) => bindings.observe(id, listener), [bindings, id]);
  return useSyncExternalStore(subscribe, () => bindings.read(id));
}

export type Properties = Readonly<Record<string, unknown>>;

export interface WidgetProps {
  widgetKey: string;
  title: string;
  properties: Properties;
  /** The data of the queries that the widget binds itself. */
  data: SourceState | undefined;
}

/** Properties as they are used: any of them may be of another type than its schema says. */
export function text(value: unknown, other = ''): string {
  if (value === null || value === undefined) return other;
  return typeof value === 'object' ? (JSON.stringify(value) ?? other) : String(value);
}

export function flag(value: unknown): boolean {
  return value === true || value === 'true';
}

export function number(value: unknown): number | undefined {
  const one = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof one === 'number' && Number.isFinite(one) ? one : undefined;
}

export function choice<const Value extends string>(value: unknown, values: readonly Value[], other: Value): Value {
  return values.find((one) => one === value) ?? other;
}

/** The rows that a widget shows: of its property, else of the first query that it binds itself. */
export function rowsOf({ items, data: own, rows }: Properties, data: SourceState | undefined): unknown {
  const given = items ?? own ?? rows;
  if (given !== undefined && given !== '') return given;
  return firstResult(data);
}

export function firstResult(data: SourceState | undefined): unknown {
  return Array.isArray(data?.data) ? data.data[0] : data?.data;
}

export const tones = { info: 'busy', success: 'ok', warning: 'wait', danger: 'bad', neutral: 'idle' } as const;

export function toneOf(variant: unknown) {
  return tones[choice(variant, ['info', 'success', 'warning', 'danger', 'neutral'], 'info')];
}

/** The values of a widget that others read, for parts that depend on it. */
export function useExposed(page: PageState, widgetKey: string): Readonly<Record<string, unknown>> {
  return useStore(page.exposed(widgetKey));
}
