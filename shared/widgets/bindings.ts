import { z } from 'zod';
import { JsonObject } from '../json.ts';

/** The data queries that one widget may bind. */
export const MAX_BINDINGS = 20;

const Title = z.string().max(255).default('').meta({ title: 'Title', description: 'The label of the dataset' });
const Order = z
  .int()
  .min(-1_000_000)
  .max(1_000_000)
  .default(0)
  .meta({ title: 'Order', description: 'Lower ones are shown first' });
const Parameters = JsonObject.default({}).meta({
  title: 'Parameters',
  description: 'Properties of the dataset in a chart, such as its colours',
});
const Values = JsonObject.optional().meta({
  title: 'Inputs',
  description: 'Values of the inputs of the query; templates such as {{state.region}} are filled',
});

const binding = {
  dataQueryID: z.uuid().toLowerCase().meta({ title: 'Query', description: 'The id of the query to run' }),
  title: Title,
  executionOrder: Order,
  parameters: Parameters,
  datasetFields: z
    .record(z.string().max(64), z.string().max(255))
    .default({})
    .meta({ title: 'Columns', description: 'The columns of the result that the widget shows' }),
  dataQueryArgValues: Values,
};

/** A data query that a widget shows; in `widgetConfig.dataQueries`. `inputValues` is the name that queries use. */
export const WidgetBinding = z.object({ ...binding, inputValues: Values });
export type WidgetBinding = z.output<typeof WidgetBinding>;

export const WidgetBindings = z.array(WidgetBinding).max(MAX_BINDINGS);
