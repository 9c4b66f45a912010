import type { WidgetDefinition } from './define-widget.ts';
import { computedCharts, vegaCharts } from './types/charts.ts';
import { displays, layouts } from './types/display.ts';
import { inputs } from './types/inputs.ts';

/** Every widget type with a definition. Widgets of other types are stored as well, and get the raw results of their queries. */
export const widgets: readonly WidgetDefinition[] = [
  ...vegaCharts,
  ...displays,
  ...inputs,
  ...layouts,
  ...computedCharts,
];

const byType = new Map(widgets.map((definition) => [definition.type, definition]));

export function findWidgetType(type: string): WidgetDefinition | undefined {
  return byType.get(type);
}
