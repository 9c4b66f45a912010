import type { z } from 'zod';

/**
 * The shape of a widget's data:
 *
 * - `categories`: labels, and for each binding a number for each label;
 * - `points`, `bubbles`: for each binding a list of `{x, y}` or `{x, y, r}`;
 * - `text`: one text of the first rows;
 * - `raw`: the result of each binding.
 */
export type Shape = 'categories' | 'points' | 'bubbles' | 'text' | 'raw';

/** A widget type. The shape of its data is computed in `workers/widgets`. */
export interface WidgetDefinition<Type extends string = string, Properties extends z.ZodObject = z.ZodObject> {
  readonly type: Type;
  readonly label: string;
  readonly category: 'chart' | 'display' | 'input' | 'layout';
  /** Schema of `widgetConfig.properties`, for forms. It is not enforced: any of them may be a template that a browser fills. */
  readonly properties: Properties;
  /** Events of this type, in addition to those of all widgets. */
  readonly events: readonly string[];
  readonly shape: Shape;
  /** The columns that each binding names in `datasetFields`. */
  readonly columns: readonly string[];
  /** The properties of a new widget. */
  readonly defaults: z.input<Properties>;
}

type Settings<Type extends string, Properties extends z.ZodObject> = Pick<
  WidgetDefinition<Type, Properties>,
  'type' | 'label' | 'category' | 'properties' | 'defaults'
> &
  Partial<Pick<WidgetDefinition, 'events' | 'shape' | 'columns'>>;

export function defineWidget<const Type extends string, Properties extends z.ZodObject>({
  events = [],
  shape = 'raw',
  columns = [],
  ...definition
}: Settings<Type, Properties>): WidgetDefinition<Type, Properties> {
  return { ...definition, events, shape, columns };
}
