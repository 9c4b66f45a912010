import type { z } from 'zod';
import { configOf, eventsOf } from '#shared/apps/widgets/config.ts';
import type { WidgetDefinition } from '#shared/apps/widgets/define-widget.ts';
import { findWidgetType, widgets } from '#shared/apps/widgets/index.ts';
import { AppError } from '#shared/core/errors.ts';
import { tenantRoute } from '../../context/routes.ts';
import { formOf } from '../../http/forms/form.ts';
import { SchemasQuery, WidgetSchemas } from './schemas.ts';

export const describeWidgets = tenantRoute({
  name: 'getWidgetSchemas',
  method: 'get',
  path: '/widgets/schemas',
  summary: 'Get the types of widgets',
  description:
    'Returns the types of widgets, each with a JSON Schema and a form of its config. A widget may be of another type, whose data are the raw results of its queries.',
  permission: 'widget.list',
  filter: true,
  query: SchemasQuery,
  response: WidgetSchemas,

  async handle({ query: { widgetType } }) {
    const wanted = widgetType === undefined ? widgets : [getType(widgetType)];
    return {
      schemas: Object.fromEntries(wanted.map((definition) => [definition.type, describe(definition)])),
      message: 'Widget schemas',
    };
  },
});

function getType(type: string): WidgetDefinition {
  const definition = findWidgetType(type);
  if (!definition) throw new AppError('SCHEMA_NOT_FOUND', `There is no widget type "${type}"`);
  return definition;
}

type Description = z.input<typeof WidgetSchemas>['schemas'][string];

function describe(definition: WidgetDefinition): Description {
  const { type, label, category, shape, columns, defaults } = definition;
  const form = forms.get(definition) ?? formOf(configOf(definition));
  forms.set(definition, form);
  const data = { properties: defaults };
  return {
    widgetType: type,
    label,
    category,
    shape,
    columns: [...columns],
    events: eventsOf(definition),
    ...form,
    data,
  };
}

/** Made once for each type: all of them are 100 kB of JSON. */
const forms = new WeakMap<WidgetDefinition, ReturnType<typeof formOf>>();
