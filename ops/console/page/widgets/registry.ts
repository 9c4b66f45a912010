import { type ComponentType, lazy } from 'react';
import { whenServed } from '../../client/when-served.ts';
import type { WidgetProps } from './page-context.ts';

export interface WidgetKind {
  Show: ComponentType<WidgetProps>;
  /** Its title stands above it; others have words of their own. */
  hasHeading: boolean;
  /** Fills its place, as rows and drawings do, and has a border. */
  isPanel: boolean;
}

/** A group of types is loaded with the first of them that a page has. */
const display = () => whenServed(() => import('./display/all.ts'));
const chart = () => whenServed(() => import('./chart/all.tsx'));
const embedded = () => whenServed(() => import('./embedded/all.ts'));
const input = () => whenServed(() => import('./input/all.ts'));

function kind<M>(
  load: () => Promise<M>,
  pick: (module: M) => ComponentType<WidgetProps>,
  more: Partial<WidgetKind> = {},
): WidgetKind {
  return {
    Show: lazy(() => load().then((module) => ({ default: pick(module) }))),
    hasHeading: false,
    isPanel: false,
    ...more,
  };
}

const panel = { hasHeading: true, isPanel: true };

const kinds: Readonly<Record<string, WidgetKind>> = {
  text: kind(display, (all) => all.TextWidget),
  stat: kind(display, (all) => all.StatWidget, { isPanel: true }),
  table: kind(display, (all) => all.TableWidget, panel),
  alert: kind(display, (all) => all.AlertWidget),
  badge: kind(display, (all) => all.BadgeWidget),
  divider: kind(display, (all) => all.DividerWidget),
  'key-value': kind(display, (all) => all.KeyValueWidget, panel),
  'json-viewer': kind(display, (all) => all.JSONViewerWidget, panel),
  list: kind(display, (all) => all.ListWidget, panel),
  timeline: kind(display, (all) => all.TimelineWidget, panel),
  progress: kind(display, (all) => all.ProgressWidget),
  image: kind(display, (all) => all.ImageWidget),
  video: kind(display, (all) => all.VideoWidget),
  'code-block': kind(display, (all) => all.CodeBlockWidget, panel),
  bar: kind(chart, (all) => all.BarWidget, panel),
  line: kind(chart, (all) => all.LineWidget, panel),
  pie: kind(chart, (all) => all.PieWidget, panel),
  polarArea: kind(chart, (all) => all.PolarAreaWidget, panel),
  radar: kind(chart, (all) => all.RadarWidget, panel),
  scatter: kind(chart, (all) => all.ScatterWidget, panel),
  bubble: kind(chart, (all) => all.BubbleWidget, panel),
  html: kind(embedded, (all) => all.HTMLWidget),
  iframe: kind(embedded, (all) => all.SiteWidget),
  button: kind(input, (all) => all.ButtonWidget),
  form: kind(input, (all) => all.FormWidget, panel),
  'text-input': kind(input, (all) => all.TextInputWidget),
  'search-input': kind(input, (all) => all.SearchInputWidget),
  select: kind(input, (all) => all.SelectWidget),
  'multi-select': kind(input, (all) => all.MultiSelectWidget),
  'radio-group': kind(input, (all) => all.RadioGroupWidget),
  checkbox: kind(input, (all) => all.CheckboxWidget),
  switch: kind(input, (all) => all.SwitchWidget),
  slider: kind(input, (all) => all.SliderWidget),
  'date-picker': kind(input, (all) => all.DatePickerWidget),
  'date-range-picker': kind(input, (all) => all.DateRangeWidget),
  'file-upload': kind(input, (all) => all.FileUploadWidget),
  tabs: kind(input, (all) => all.TabsWidget),
};

/** For a type without a picture of its own: the values that it has. */
const unknown = kind(display, (all) => all.UnknownWidget, panel);

export function kindOf(type: string): WidgetKind {
  return Object.hasOwn(kinds, type) ? (kinds[type] ?? unknown) : unknown;
}
