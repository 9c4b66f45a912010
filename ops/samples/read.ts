import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { Json, JsonObject } from '#shared/core/json.ts';
import { sampleGroups } from './groups.ts';

const Reference = z.strictObject({ type: z.string(), id: z.uuid() });

/** `id` is a key that other items of the file name; an installation replaces it everywhere by the id that the tenant's asset has. */
function item<Type extends string, Payload extends z.ZodType>(type: Type, payload: Payload) {
  return z.strictObject({ type: z.literal(type), id: z.uuid(), dependencies: z.array(Reference), payload });
}

/** The fields that a query has instead for a datasource of another type. */
const Variant = z.strictObject({ datasourceType: z.string(), dataQueryOptions: JsonObject });

const Item = z.discriminatedUnion('type', [
  item('file', z.strictObject({ fileName: z.string(), content: z.string() })),
  item('datasource', z.looseObject({ datasourceTitle: z.string() })),
  item('dataQuery', z.looseObject({ dataQueryTitle: z.string() })).extend({ variants: z.array(Variant).optional() }),
  item('workflow', z.looseObject({ title: z.string() })),
  item('cronJob', z.looseObject({ cronJobTitle: z.string() })),
  item('listener', z.looseObject({ listenerTitle: z.string(), endpointPath: z.string() })),
  item('widget', z.looseObject({ widgetTitle: z.string(), widgetType: z.string() })),
  item('appPage', z.looseObject({ appPageTitle: z.string() })),
]);
export type SampleItem = z.output<typeof Item>;

/** A secret is declared and has no value in the file. */
const Variable = z.discriminatedUnion('isSecret', [
  z.strictObject({ name: z.string(), isSecret: z.literal(false), value: Json, description: z.string() }),
  z.strictObject({ name: z.string(), isSecret: z.literal(true), description: z.string() }),
]);

const described = { title: z.string(), description: z.string() };

/** A thing that an installation is given, beside values of variables. */
const Need = z.discriminatedUnion('kind', [
  // A datasource of the tenant, which stands for `id` in the items. Queries take the fields of the variant of its type.
  z.strictObject({
    kind: z.literal('datasource'),
    name: z.string(),
    id: z.uuid(),
    types: z.array(z.string()).min(1),
    ...described,
  }),
  // A language model of the tenant or of the deployment.
  z.strictObject({ kind: z.literal('ai') }),
  // A secret of the item `id`, in place of the mask at `path`. Without a value an installation makes one.
  z.strictObject({
    kind: z.literal('secret'),
    name: z.string(),
    id: z.uuid(),
    path: z.array(z.string()).min(1),
    ...described,
  }),
]);

const Example = z.strictObject({
  title: z.string(),
  workflowID: z.uuid(),
  args: JsonObject,
  status: z.enum(['COMPLETED', 'FAILED']),
  /** Absent if it depends on a service outside. */
  output: JsonObject.optional(),
  /** To the questions that the run asks, in their order. */
  answers: z.array(JsonObject).optional(),
});
export type SampleExample = z.output<typeof Example>;

/** A file of this folder: a bundle of assets, what they need, and runs to try. An item comes after its dependencies. The first run is that of the main workflow. */
export const Sample = z.strictObject({
  bundleVersion: z.literal(1),
  generator: z.literal('gantry'),
  name: z.string(),
  title: z.string(),
  description: z.string(),
  group: z.enum(sampleGroups),
  needs: z.array(Need),
  variables: z.array(Variable),
  /**
   * Statements for the tenant's database, which may be executed again. Names of tables and functions begin with `sample_`, so that a
   * second installation can have its own.
   */
  setup: z.array(z.string()),
  items: z.array(Item),
  /** The page that an installation opens. Without one it opens the main workflow. */
  page: z.uuid().optional(),
  examples: z.array(Example).min(1),
});
export type Sample = z.output<typeof Sample>;

const folder = import.meta.dirname;

export async function readSample(name: string): Promise<Sample> {
  return Sample.parse(JSON.parse(await readFile(join(folder, `${name}.json`), 'utf8')));
}

/** The names of all samples, in alphabetical order. */
export async function sampleNames(): Promise<string[]> {
  const files = await readdir(folder);
  return files
    .filter((file) => file.endsWith('.json'))
    .map((file) => basename(file, '.json'))
    .sort();
}
