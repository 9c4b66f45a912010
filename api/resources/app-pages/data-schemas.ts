import { z } from 'zod';
import { JsonObject } from '#shared/core/json.ts';
import { exampleIDs } from '../../http/fields/example-ids.ts';

/** Queries and widgets of one request. */
const MAX_ITEMS = 100;

const WantedQuery = z
  .object({
    queryAlias: z.string().min(1).max(255),
    inputValues: JsonObject.default({}).describe(
      'The values of the templates among the parameters that the page declares',
    ),
  })
  .meta({ id: 'AppPageWantedQuery' });

const WantedWidget = z
  .object({
    widgetKey: z.string().min(1).max(255).describe('As the page has it in `widgets`'),
    state: JsonObject.default({}).describe('Values for the templates in the inputs of its queries'),
  })
  .meta({ id: 'AppPageWantedWidget' });

const exampleWanted = {
  queries: [{ queryAlias: 'orders', inputValues: { day: '2026-03-02' } }],
  widgets: [{ widgetKey: `widget_${exampleIDs.widgetID}_1`, state: { day: '2026-03-02' } }],
};

export const PageDataRequest = z
  .object({
    queries: z.array(WantedQuery).max(MAX_ITEMS).default([]),
    widgets: z.array(WantedWidget).max(MAX_ITEMS).default([]),
  })
  .meta({ id: 'AppPageDataRequest', examples: [exampleWanted] });
