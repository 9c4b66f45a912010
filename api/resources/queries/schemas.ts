import { z } from 'zod';
import { Caller } from '#shared/caller.ts';
import { Json, JsonObject } from '#shared/json.ts';
import { ResultCursor } from '#shared/result-pages.ts';
import { FormsByType } from '../../http/form.ts';
import { ID } from '../../http/id.ts';
import { explorerPage, pageFields, pageQuery, standardPage } from '../../http/paging.ts';

export const DataQueryID = z.object({ dataQueryID: ID });

const Title = z.string().min(1).max(255);
const Type = z.string().min(1).max(64);

/** The type's own fields and those of every query; what is asked may be named in here or beside it. */
const Options = z.object({ datasourceID: ID.nullish(), datasourceType: Type.nullish() }).catchall(Json);

/** Null, or not there: the type needs no datasource. */
const target = { datasourceID: ID.nullish(), datasourceType: Type.nullish() };

const described = {
  dataQueryDescription: z.string().max(10_000).nullish(),
  runOnLoad: z.boolean().optional(),
  isDisabled: z.boolean().optional(),
  folderID: ID.nullish(),
};

export const DataQueryCreate = z
  .object({ dataQueryTitle: Title, dataQueryOptions: Options, ...target, ...described })
  .transform((body) => ({ ...body, ...split(body) }));
export type DataQueryCreate = z.output<typeof DataQueryCreate>;

export const DataQueriesCreate = z.array(DataQueryCreate).min(1).max(200);

/** Undefined leaves, null clears; options are given as a whole. */
export const DataQueryUpdate = z
  .object({ dataQueryTitle: Title.optional(), dataQueryOptions: Options.optional(), ...target, ...described })
  .transform((body) => {
    const { dataQueryOptions = {} } = body;
    return {
      ...body,
      ...split({ ...body, dataQueryOptions }),
      ...(!body.dataQueryOptions && { dataQueryOptions: undefined }),
    };
  });
export type DataQueryUpdate = z.output<typeof DataQueryUpdate>;

const inputs = { args: JsonObject.optional(), inputValues: JsonObject.optional() };

/** No body at all is a run without inputs. */
export const DataQueryInputs = z
  .object(inputs)
  .optional()
  .transform((body) => ({ inputs: inputsOf(body) }));

/** With `cursor`, the `nextCursor` of an answer, the rows that follow; nothing is run then. */
export const DataQueryRun = z
  .object({ ...inputs, cursor: ResultCursor.optional() })
  .optional()
  .transform((body) => ({ inputs: inputsOf(body), cursor: body?.cursor }));

export const DataQueryTest = z
  .object({ dataQuery: z.object({ dataQueryOptions: Options, ...target }).transform(split), ...inputs })
  .transform(({ dataQuery, ...body }) => ({ dataQuery, inputs: inputsOf(body) }));

const Flag = z
  .enum(['true', 'false'])
  .default('false')
  .transform((text) => text === 'true');

export const RunQuery = z.object({
  /** How the server would go about it, in the place of its answer. */
  explain: Flag,
  /** The cache is not asked. */
  fresh: Flag,
});

export const DataQueryList = z.object({
  ...pageQuery(explorerPage),
  search: z.string().max(255).optional(),
  folderID: ID.optional(),
  datasourceID: ID.optional(),
});

export const RunList = z.object(pageQuery(standardPage));

export const SchemasQuery = z.object({ datasourceType: z.string().max(64).optional() });

export const DataQuery = z.object({
  id: z.uuid(),
  dataQueryID: z.uuid(),
  tenantID: z.uuid(),
  dataQueryTitle: z.string(),
  dataQueryDescription: z.string().nullable(),
  dataQueryOptions: z.looseObject({}),
  datasourceID: z.uuid().nullable(),
  datasourceType: z.string(),
  runOnLoad: z.boolean(),
  isDisabled: z.boolean(),
  folderID: z.uuid().nullable(),
  creatorID: z.uuid(),
  createdByApiKeyID: z.uuid().nullable(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});

export const DataQueries = z.object({ dataQueries: z.array(DataQuery), ...pageFields });

/** After a change: the query, and words for people. */
export const Changed = z.object({ dataQuery: DataQuery, message: z.string() });

export const Runs = z.object({
  runs: z.array(
    z.object({
      queryRunID: z.uuid(),
      dataQueryID: z.uuid(),
      datasourceID: z.uuid().nullable(),
      datasourceType: z.string(),
      caller: Caller,
      startedAt: z.iso.datetime(),
      durationMs: z.int(),
      rowCount: z.int().nullable(),
      isCached: z.boolean(),
      error: z.object({ code: z.string(), message: z.string() }).nullable(),
    }),
  ),
  ...pageFields,
});

export const DataQuerySchemas = FormsByType;

interface Inputs {
  args?: JsonObject | undefined;
  inputValues?: JsonObject | undefined;
}

function inputsOf(body: Inputs | undefined): JsonObject {
  return body?.inputValues ?? body?.args ?? {};
}

interface Spelled {
  dataQueryOptions: z.output<typeof Options>;
  datasourceID?: string | null | undefined;
  datasourceType?: string | null | undefined;
}

/** One spelling: what is asked stands beside the options. */
function split(body: Spelled) {
  const { datasourceID, datasourceType, ...own } = body.dataQueryOptions;
  return {
    datasourceID: body.datasourceID === undefined ? datasourceID : body.datasourceID,
    datasourceType: body.datasourceType ?? datasourceType ?? undefined,
    dataQueryOptions: own as JsonObject,
  };
}
