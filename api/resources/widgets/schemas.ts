import { z } from 'zod';
import { JsonObject } from '#shared/core/json.ts';
import { looseObject } from '#shared/core/record.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { explorerPage, pageFields, pageQuery } from '../../http/fields/paging.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { Title } from '../../http/fields/text.ts';
import { exampleSchemas, exampleWidget, exampleWidgetCreate, exampleWidgetUpdate } from './examples.ts';

export const WidgetID = z.object({ widgetID: idOf('widget') });

/** Any text: a type without a description shows the raw results. */
export const WidgetType = z.string().min(1).max(255);
export const WidgetConfig = JsonObject.describe(
  'The fields depend on `widgetType`: see `getWidgetSchemas`. `dataQueries` binds data queries.',
);

const described = {
  widgetDescription: z.string().max(10_000).nullish(),
  refreshInterval: z
    .int()
    .min(0)
    .max(86_400)
    .optional()
    .describe('Seconds for which its data may be reused; 0: never. An admin UI asks again after them.'),
  folderID: idOf('folder').nullish(),
};

export const WidgetCreate = z
  .object({ widgetTitle: Title, widgetType: WidgetType, widgetConfig: WidgetConfig, ...described })
  .meta({ id: 'WidgetCreate', examples: [exampleWidgetCreate] });

/** Absent fields stay as they are, null clears a field; the config is replaced as a whole. */
export const WidgetUpdate = z
  .object({
    widgetTitle: Title.optional(),
    widgetType: WidgetType.optional(),
    widgetConfig: WidgetConfig.optional(),
    ...described,
  })
  .meta({ id: 'WidgetUpdate', examples: [exampleWidgetUpdate] });

export const WidgetList = z.object({
  ...pageQuery(explorerPage),
  search: z.string().max(255).optional().describe('A part of the title'),
  folderID: idOf('folder').optional(),
  widgetType: z.string().max(255).optional(),
});

export const Widget = z
  .object({
    id: z.uuid(),
    widgetID: z.uuid(),
    tenantID: z.uuid(),
    widgetTitle: z.string(),
    widgetDescription: z.string().nullable(),
    widgetType: z.string(),
    widgetConfig: looseObject({}),
    refreshInterval: z.int(),
    versionNumber: z.int().describe('Counts changes but moves between folders; the `ETag` has it too'),
    folderID: z.uuid().nullable(),
    creatorID: z.uuid(),
    createdByApiKeyID: z.uuid().nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Widget', examples: [exampleWidget] });

export const Widgets = z
  .object({ widgets: z.array(Widget), ...pageFields, message: Message })
  .meta({ id: 'WidgetPage' });

/** Answer to a change: the widget, and a message to show. */
export const Changed = z.object({ widget: Widget, message: Message });

export const SchemasQuery = z.object({ widgetType: z.string().max(255).optional() });

const WidgetForm = z
  .object({
    widgetType: z.string(),
    label: z.string(),
    category: z.enum(['chart', 'display', 'input', 'layout']),
    shape: z
      .enum(['categories', 'points', 'bubbles', 'text', 'raw'])
      .describe('What its data look like; raw: the result of each query'),
    columns: z.array(z.string()).describe('What `datasetFields` of a binding names'),
    events: z.array(z.string()),
    schema: looseObject({}).describe('JSON Schema of `widgetConfig`'),
    uischema: looseObject({}).describe('Layout of the form, for JSONForms'),
    data: looseObject({}).describe('What an editor starts with'),
  })
  .meta({ id: 'WidgetForm' });

export const WidgetSchemas = z
  .object({ schemas: z.record(z.string(), WidgetForm), message: Message })
  .meta({ id: 'WidgetSchemas', examples: [exampleSchemas] });
