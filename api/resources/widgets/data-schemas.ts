import { z } from 'zod';
import { Json, JsonObject } from '#shared/core/json.ts';
import { LossyNumber, parseExact } from '#shared/core/lossless-json.ts';
import { quote } from '#shared/core/quote.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { WidgetAnswer } from '#shared/messaging/queues/widget-data.ts';
import { Flag } from '../../http/fields/flag.ts';
import { Message, WorkError } from '../../http/fields/response-parts.ts';
import { Title } from '../../http/fields/text.ts';
import { exampleBulkData, exampleBulkDataRequest, exampleData, exampleDataRequest } from './examples.ts';
import { WidgetConfig, WidgetType } from './schemas.ts';

const MAX_WIDGETS = 50;

const State = JsonObject.default({}).describe(
  'Values for the templates in the inputs of the queries: `{{state.region}}` is its `region`',
);

const Fresh = Flag.describe('Does not use the cache');

export const DataQuery = z.object({
  fresh: Fresh,
  state: z
    .string()
    .max(8_000)
    .default('{}')
    .transform((text, check) => {
      try {
        return JsonObject.parse(parseExact(text));
      } catch (error) {
        const wrong = `expected an object as JSON, received ${quote(text)}`;
        check.addIssue({ code: 'custom', message: error instanceof LossyNumber ? error.message : wrong });
        return z.NEVER;
      }
    })
    .meta({
      description: 'As JSON: values for the templates in the inputs of the queries',
      examples: ['{"region":"EU"}'],
    }),
});

export const FreshQuery = z.object({ fresh: Fresh });

/** A widget that need not be stored. Without a type its data are the raw results. */
export const WidgetDataRequest = z
  .object({
    widgetTitle: Title.optional(),
    widgetType: WidgetType.optional(),
    widgetConfig: WidgetConfig.optional(),
    state: State,
  })
  .meta({ id: 'WidgetDataRequest', examples: [exampleDataRequest] });

export const WidgetDataBulk = z
  .object({
    widgets: z
      .array(z.object({ widgetID: idOf('widget'), state: JsonObject.optional() }).meta({ id: 'WidgetDataItem' }))
      .min(1)
      .max(MAX_WIDGETS),
    state: State.describe('For the widgets without one of their own'),
  })
  .meta({ id: 'WidgetDataBulk', examples: [exampleBulkDataRequest] });

const Binding = WidgetAnswer.shape.bindings.element
  .extend({ error: WorkError.nullable() })
  .meta({ id: 'WidgetBindingOutcome', description: 'How the query of a binding ended' });

const data = {
  widgetData: Json.describe('Depends on `widgetType`: see `shape` in `getWidgetSchemas`'),
  bindings: z.array(Binding),
};

export const WidgetData = z.object({ ...data, message: Message }).meta({ id: 'WidgetData', examples: [exampleData] });

export const WidgetsData = z
  .object({
    widgets: z.array(
      z
        .object({
          widgetID: z.uuid(),
          widgetData: data.widgetData.nullable(),
          bindings: data.bindings,
          error: WorkError.nullable(),
        })
        .meta({ id: 'WidgetDataOfOne' }),
    ),
    message: Message,
  })
  .meta({ id: 'WidgetsData', examples: [exampleBulkData] });
