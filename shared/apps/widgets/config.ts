import { z } from 'zod';
import { looseObject } from '../../core/record.ts';
import { bindingFor, MAX_BINDINGS } from './bindings.ts';
import type { WidgetDefinition } from './define-widget.ts';
import { flag, object, text } from './properties.ts';

/** Events of every widget. */
const COMMON_EVENTS = ['onClick', 'onRefresh', 'onLoad'] as const;

const actions = [
  'SET_VARIABLE',
  'EXECUTE_QUERY',
  'TRIGGER_QUERY',
  'TRIGGER_WORKFLOW',
  'CALL_WIDGET_METHOD',
  'SHOW_TOAST',
  'NAVIGATE',
  'OPEN_PAGE',
  'COPY',
  'DOWNLOAD',
  'CONFIRM',
  'OPEN_RUN',
  'STOP_RUN',
  'RERUN',
] as const;

/** The browser's action at an event. The server reads the ids in it, when it checks permissions. */
const Action = looseObject({
  type: z.enum(actions).meta({ title: 'Action', description: 'What is done' }),
  key: text('Variable', 'Name of the variable that is set'),
  value: text('Value', 'What the variable is set to, or what COPY and DOWNLOAD take'),
  alias: text('Query or workflow of the page', 'Its alias, for EXECUTE_QUERY and TRIGGER_WORKFLOW'),
  queryID: text('Query', 'Its id, for TRIGGER_QUERY'),
  workflowID: text('Workflow', 'Its id, for TRIGGER_WORKFLOW'),
  instanceID: text('Run', 'Its id, for OPEN_RUN, STOP_RUN and RERUN, which have the right of the viewer'),
  inputValues: object('Inputs', 'Of the query or the workflow'),
  widgetKey: text('Widget', 'Its key on the page, for CALL_WIDGET_METHOD'),
  method: text('Method', 'Of the widget'),
  message: text('Message', 'For SHOW_TOAST, or the question of CONFIRM, behind which the actions go on'),
  url: text('Address', 'For NAVIGATE'),
  appPageID: text('Page', 'Its id, for OPEN_PAGE'),
  params: object('Parameters', 'Of the page that is opened: its expressions read {{page.params.id}}'),
  fileName: text('Name of the file', 'For DOWNLOAD'),
});

/** A property of every widget. */
const isHidden = flag('Hidden', 'The widget is not shown: always, or while an expression says so');

export function eventsOf({ events }: WidgetDefinition): string[] {
  return [...new Set([...COMMON_EVENTS, ...events])];
}

/** Schema of the whole `widgetConfig` of a type, for its form. */
export function configOf(definition: WidgetDefinition): z.ZodObject {
  const names = eventsOf(definition);
  return z.object({
    properties: definition.properties
      .extend({ isHidden })
      .meta({ title: 'Properties', description: 'What the widget shows, and how' }),
    dataQueries: z
      .array(bindingFor(definition.columns))
      .max(MAX_BINDINGS)
      .optional()
      .meta({ title: 'Data', description: 'The data queries whose results the widget shows' }),
    events: z
      .partialRecord(z.enum(names), z.array(Action).max(50))
      .optional()
      .meta({ title: 'Events', description: 'What is done when something happens' }),
  });
}
