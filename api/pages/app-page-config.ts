import { z } from 'zod';
import { Json, JsonObject } from '#shared/core/json.ts';
import { withOthers } from '#shared/core/record.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { readable } from '#shared/workflow/reserved.ts';
import { RunColumn } from './run-columns.ts';

const DataSource = withOthers(
  {
    // An alias becomes a part of a path, in which clients resolve `.` and `..` as folders.
    alias: z
      .string()
      .min(1)
      .max(255)
      .regex(/^(?!\.{1,2}$)/, { message: 'must be neither . nor ..' })
      .refine(...readable)
      .meta({ title: 'Alias', description: 'The name by which the page uses it, such as orders' }),
    type: z
      .enum(['query', 'workflow', 'listener', 'runs'])
      .meta({ title: 'Type', description: 'What is bound, by the id that belongs to the type' }),
    queryID: idOf('dataQuery').nullish().meta({ title: 'Query', description: 'For the type `query`' }),
    workflowID: idOf('workflow')
      .nullish()
      .meta({ title: 'Workflow', description: 'For the types `workflow` and `runs`' }),
    listenerID: idOf('listener').nullish().meta({ title: 'Listener', description: 'For the type `listener`' }),
    channelName: z
      .string()
      .max(255)
      .nullish()
      .meta({ title: 'Channel', description: 'For the type `listener`: the channel that its action names' }),
    runColumns: z.array(RunColumn).min(1).max(RunColumn.options.length).nullish().meta({
      title: 'Columns',
      description: 'For the type `runs`: what its viewers see of each run. Empty: all of them',
    }),
    inputValues: JsonObject.nullish().meta({
      title: 'Inputs',
      description:
        'The parameters. A viewer may set those whose value has a template such as `{{variables.day}}`; the others are fixed',
    }),
    triggerMode: z.enum(['auto', 'reactive', 'manual']).nullish().meta({
      title: 'Trigger',
      description: 'What makes the page ask: `auto` opening it, `reactive` a change of a variable, `manual` an action',
    }),
    refreshOn: z.array(z.string().max(255)).max(100).nullish().meta({
      title: 'Refresh on',
      description: 'Variables whose change makes the page ask again, such as variables.day',
    }),
    refetchInterval: z.int().min(0).nullish().meta({
      title: 'Refresh every (ms)',
      description: 'Milliseconds after which the page asks again. Empty: it does not',
    }),
  },
  Json,
)
  .superRefine((source, check) => {
    const field = fieldOf[source.type];
    if (!source[field])
      check.addIssue({ code: 'custom', path: [field], message: `is required for the type ${source.type}` });
  })
  .meta({ id: 'AppPageDataSource' });
type DataSource = z.output<typeof DataSource>;

const fieldOf = { query: 'queryID', workflow: 'workflowID', listener: 'listenerID', runs: 'workflowID' } as const;

const Variable = withOthers(
  {
    key: z
      .string()
      .min(1)
      .max(255)
      .refine(...readable)
      .meta({ title: 'Name', description: 'By which templates read the variable, as in {{variables.day}}' }),
    type: z
      .enum(['string', 'number', 'boolean', 'object', 'array'])
      .nullish()
      .meta({ title: 'Type', description: 'What values the variable has' }),
    defaultValue: Json.optional().meta({
      title: 'Initial value',
      description: 'What the variable is when the page opens',
    }),
    description: z
      .string()
      .max(10_000)
      .nullish()
      .meta({ title: 'Description', description: 'A note for readers of the page; it has no effect' }),
  },
  Json,
).meta({ id: 'AppPageVariable' });

/** Content and bindings of a page. Everything but the bindings is for the admin UI: it is stored as it comes. */
export const AppPageConfig = withOthers(
  {
    layoutVersion: z
      .int()
      .nullish()
      .meta({ title: 'Version of the layout', description: 'The form in which `layout` is written, such as 2' }),
    layout: JsonObject.nullish().meta({
      title: 'Layout',
      description: 'A tree of nodes: column, row, widget (`widgetKey`), container, stack, z-stack',
    }),
    widgets: z
      .array(z.string().max(255))
      .max(1_000)
      .nullish()
      .meta({ title: 'Widgets', description: 'Keys of the form `widget_<widgetID>_<suffix>`' }),
    dataSources: z.array(DataSource).max(500).nullish().meta({
      title: 'Data sources',
      description: 'Queries, workflows, their runs and listeners that the page shows or starts',
    }),
    variables: z
      .array(Variable)
      .max(1_000)
      .nullish()
      .meta({ title: 'Variables', description: 'Values that widgets set and read while the page is open' }),
  },
  Json,
)
  .superRefine(({ dataSources }, check) => {
    for (const at of repeatedAliases(dataSources ?? []))
      check.addIssue({
        code: 'custom',
        path: ['dataSources', at, 'alias'],
        message: 'another data source of the page has this alias',
      });
  })
  .meta({ id: 'AppPageConfig' });

function repeatedAliases(sources: readonly DataSource[]): number[] {
  const seen = new Set<string>();
  return [...sources.entries()].flatMap(([at, { alias }]) => {
    const isRepeated = seen.has(alias);
    seen.add(alias);
    return isRepeated ? [at] : [];
  });
}
