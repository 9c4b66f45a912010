import { z } from 'zod';
import { looseObject } from '#shared/core/record.ts';
import type { Widget } from '#shared/entities/tables/widget.ts';
import { exampleIDs } from '../http/fields/example-ids.ts';
import { WorkError } from '../http/fields/response-parts.ts';

const examplePlaced = {
  widgetKey: `widget_${exampleIDs.widgetID}_1`,
  widgetID: exampleIDs.widgetID,
  widgetTitle: 'Orders',
  widgetType: 'table',
  widgetConfig: { properties: { items: '{{queries.orders.data}}' } },
  refreshInterval: 0,
  versionNumber: 3,
  error: null,
};

/** A widget at one place of a page or a dashboard; with an error it is not shown, and its other fields are empty. */
export const PlacedWidget = z
  .object({
    widgetKey: z.string(),
    widgetID: z.uuid(),
    widgetTitle: z.string(),
    widgetType: z.string(),
    widgetConfig: looseObject({}),
    refreshInterval: z.int(),
    versionNumber: z.int().describe('Of the widget, for `If-Match`; 0 for one that is not shown'),
    error: WorkError.nullable().describe('Why the widget is not shown; the fields beside it are empty then'),
  })
  .meta({ id: 'PlacedWidget', examples: [examplePlaced] });
type Placed = z.input<typeof PlacedWidget>;

export function presentPlaced(widgetKey: string, widget: Widget): Placed {
  const { id: widgetID, widgetTitle, widgetType, widgetConfig, refreshInterval, versionNumber } = widget;
  return { widgetKey, widgetID, widgetTitle, widgetType, widgetConfig, refreshInterval, versionNumber, error: null };
}

const MISSING = { code: 'NOT_FOUND', message: 'Widget not found' };

export function missingWidget(
  { widgetKey, widgetID }: Pick<Placed, 'widgetKey' | 'widgetID'>,
  error: { code: string; message: string } = MISSING,
): Placed {
  const nothing = { widgetTitle: '', widgetType: '', widgetConfig: {}, refreshInterval: 0, versionNumber: 0 };
  return { widgetKey, widgetID, ...nothing, error };
}
