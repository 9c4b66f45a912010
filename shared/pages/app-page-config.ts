import { z } from 'zod';
import { Json, JsonObject } from '../json.ts';

const ID = z.uuid().toLowerCase();

const DataSource = z
  .object({
    // As a part of a path, a client would take either for a folder.
    alias: z
      .string()
      .min(1)
      .max(255)
      .regex(/^(?!\.{1,2}$)/, { message: 'must be neither . nor ..' })
      .describe('The name by which the page uses it'),
    type: z.enum(['query', 'workflow', 'listener']),
    queryID: ID.nullish(),
    workflowID: ID.nullish(),
    listenerID: ID.nullish(),
    channelName: z.string().max(255).nullish(),
    inputValues: JsonObject.nullish().describe(
      'The parameters. A viewer may set those whose value has a template such as `{{variables.day}}`; the others are fixed',
    ),
    triggerMode: z.enum(['auto', 'reactive', 'manual']).nullish(),
    refreshOn: z.array(z.string().max(255)).max(100).nullish(),
    refetchInterval: z.int().min(0).nullish().describe('Milliseconds'),
  })
  .catchall(Json)
  .superRefine((source, check) => {
    const field = fieldOf[source.type];
    if (!source[field])
      check.addIssue({ code: 'custom', path: [field], message: `is required for the type ${source.type}` });
  })
  .meta({ id: 'AppPageDataSource' });
type DataSource = z.output<typeof DataSource>;

const fieldOf = { query: 'queryID', workflow: 'workflowID', listener: 'listenerID' } as const;

const Variable = z
  .object({
    key: z.string().min(1).max(255),
    type: z.enum(['string', 'number', 'boolean', 'object', 'array']).nullish(),
    defaultValue: Json.optional(),
    description: z.string().max(10_000).nullish(),
  })
  .catchall(Json)
  .meta({ id: 'AppPageVariable' });

/** What a page shows and binds. Everything but the bindings is for the admin UI: it is stored as it comes. */
export const AppPageConfig = z
  .object({
    layoutVersion: z.int().nullish(),
    layout: JsonObject.nullish().describe(
      'A tree of nodes: column, row, widget (`widgetKey`), container, stack, z-stack',
    ),
    widgets: z
      .array(z.string().max(255))
      .max(1_000)
      .nullish()
      .describe('Keys of the form `widget_<widgetID>_<suffix>`'),
    dataSources: z.array(DataSource).max(500).nullish().describe('What the page binds'),
    variables: z.array(Variable).max(1_000).nullish(),
  })
  .catchall(Json)
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
