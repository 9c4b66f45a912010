import { z } from 'zod';
import { JsonObject } from '../../core/json.ts';
import { idOf, inputsOf } from '../../core/schema/reference.ts';

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
const Values = inputsOf(JsonObject.optional(), 'dataQueryID').meta({
  title: 'Inputs',
  description: 'Values of the inputs of the query; templates such as {{state.region}} are filled',
});

const binding = {
  dataQueryID: idOf('dataQuery').meta({ title: 'Query', description: 'The query to run' }),
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

/** A binding as the form of a type describes it, with the columns that the type needs. */
export function bindingFor(columns: readonly string[]) {
  const { dataQueryID, title, executionOrder, parameters, dataQueryArgValues } = binding;
  const fields = columns.map((name) => {
    const words = { title: columnLabels[name] ?? name, description: 'Name of a column of the result' };
    return [name, z.string().max(255).meta(words)] as const;
  });
  const rest = { title, executionOrder, parameters, dataQueryArgValues };
  if (fields.length === 0) return z.object({ dataQueryID, ...rest });
  const datasetFields = z
    .object(Object.fromEntries(fields))
    .meta({ title: 'Columns', description: 'Where the values are' });
  return z.object({ dataQueryID, datasetFields, ...rest });
}

const columnLabels: Readonly<Record<string, string>> = {
  xAxis: 'X axis',
  yAxis: 'Y axis',
  radius: 'Size',
  label: 'Label',
  value: 'Number',
  text: 'Content',
};
