import { z } from 'zod';
import { Caller } from '#shared/core/caller.ts';
import { JsonObject, settingsWith } from '#shared/core/json.ts';
import { looseObject } from '#shared/core/record.ts';
import { givenInputs } from '#shared/core/schema/field-aliases.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { readBy } from '#shared/core/schema/walk.ts';
import { ResultCursor } from '#shared/datasources/result-pages.ts';
import type { FieldAliases } from '../../http/fields/field-aliases.ts';
import { Flag } from '../../http/fields/flag.ts';
import { explorerPage, pageFields, pageQuery, standardPage } from '../../http/fields/paging.ts';
import { Message, WorkError } from '../../http/fields/response-parts.ts';
import { FormsByType } from '../../http/forms/form.ts';
import {
  exampleDataQuery,
  exampleDataQueryCreate,
  exampleDataQueryTest,
  exampleDataQueryUpdate,
  exampleGenerate,
  exampleGenerated,
  exampleInputs,
  exampleRun,
} from './examples.ts';

export const DataQueryID = z.object({ dataQueryID: idOf('dataQuery') });

const Title = z.string().min(1).max(255);
const Type = z.string().min(1).max(64);

/**
 * Options of a query: fields of its type, and those of every query. The datasource may be named among them or beside
 * them.
 */
const Options = settingsWith({ datasourceID: idOf('datasource').nullish(), datasourceType: Type.nullish() }).meta({
  id: 'DataQueryOptions',
  description: 'The fields depend on `datasourceType`: see `getDataQuerySchemas`',
});

/** Null or absent when the type needs no datasource. */
const target = { datasourceID: idOf('datasource').nullish(), datasourceType: Type.nullish() };

const described = {
  dataQueryDescription: z.string().max(10_000).nullish(),
  runOnLoad: z.boolean().optional(),
  isDisabled: z.boolean().optional(),
  isOfferedAsTool: z
    .boolean()
    .optional()
    .describe('Whether clients of MCP get it as a tool of its own, by its title, with its declared inputs'),
  folderID: idOf('folder').nullish(),
};

export const DataQueryCreate = z
  .object({ dataQueryTitle: Title, dataQueryOptions: Options, ...target, ...described })
  .transform((body) => ({ ...body, ...split(body) }))
  .meta({ id: 'DataQueryCreate', examples: [exampleDataQueryCreate] });
export type DataQueryCreate = z.output<typeof DataQueryCreate>;

export const DataQueriesCreate = z.array(DataQueryCreate).min(1).max(200).meta({ id: 'DataQueriesCreate' });

/** Absent fields stay as they are, null clears a field; options are replaced as a whole. */
export const DataQueryUpdate = z
  .object({ dataQueryTitle: Title.optional(), dataQueryOptions: Options.optional(), ...target, ...described })
  .transform((body) => {
    const { dataQueryOptions = {} } = body;
    return {
      ...body,
      ...split({ ...body, dataQueryOptions }),
      ...(!body.dataQueryOptions && { dataQueryOptions: undefined }),
    };
  })
  .meta({ id: 'DataQueryUpdate', examples: [exampleDataQueryUpdate] });
export type DataQueryUpdate = z.output<typeof DataQueryUpdate>;

const inputs = {
  args: JsonObject.optional().describe('Another name for `inputValues`'),
  inputValues: JsonObject.optional().describe('The values of the parameters'),
};
const inputNames = ['inputValues', 'args'] as const;
export const inputAliases: FieldAliases = { inputValues: inputNames };

/** The query of a test is in the body, its target beside its options or among them. */
export const testAliases: FieldAliases = {
  ...inputAliases,
  dataQueryOptions: ['dataQuery.dataQueryOptions'],
  datasourceType: ['dataQuery.datasourceType', 'dataQuery.dataQueryOptions.datasourceType'],
};

/** An empty body runs the query without inputs. */
export const DataQueryInputs = z
  .object(inputs)
  .optional()
  .transform((body, check) => ({ inputs: givenInputs(body, inputNames, check) ?? {} }))
  .meta({ id: 'DataQueryInputs', examples: [exampleInputs] });

/**
 * Inputs of a run. With `cursor`, the `nextCursor` of an earlier result, the rows that follow are returned and the query
 * is not run again.
 */
export const DataQueryRun = z
  .object({ ...inputs, cursor: ResultCursor.optional() })
  .optional()
  .transform((body, check) => ({ inputs: givenInputs(body, inputNames, check) ?? {}, cursor: body?.cursor }))
  .meta({ id: 'DataQueryRun', examples: [exampleInputs] });

const given = { dataQueryOptions: Options, ...target };
const whole = z.object({ dataQueryTitle: Title, ...given, ...described });

/** The fields of a query that a test uses. The other fields of a stored query may be sent too, and are ignored. */
const GivenDataQuery = readBy(z.object(given), () => whole)
  .transform(split)
  .meta({ id: 'GivenDataQuery' });

export const DataQueryTest = z
  .object({ dataQuery: GivenDataQuery, ...inputs })
  .transform(({ dataQuery, ...body }, check) => ({ dataQuery, inputs: givenInputs(body, inputNames, check) ?? {} }))
  .meta({ id: 'DataQueryTest', examples: [exampleDataQueryTest] });

export const QueryGenerate = z
  .object({
    aiPrompt: z.string().min(1).max(20_000).describe('What the query should do'),
    datasourceID: idOf('datasource').nullish().describe("Absent: the tenant's own database"),
  })
  .meta({ id: 'DataQueryGenerate', examples: [exampleGenerate] });

/** A generated query, in the form that `createQuery` accepts. */
const Generated = z
  .object({
    dataQueryTitle: z.string(),
    dataQueryOptions: looseObject({}),
    datasourceID: z.uuid().nullable(),
    datasourceType: z.string(),
  })
  .meta({ id: 'GeneratedDataQuery' });

export const GeneratedQuery = z
  .object({
    dataQuery: Generated,
    databaseQuery: z.string().nullable().describe('The statement, if the query is one'),
    assumptions: z.array(z.string()),
    message: Message,
  })
  .meta({ id: 'QueryGeneration', examples: [exampleGenerated] });

export const RunQuery = z.object({
  explain: Flag.describe('Returns how the server would execute the query, and does not execute it'),
  fresh: Flag.describe('Does not use the cache'),
});

export const DataQueryList = z.object({
  ...pageQuery(explorerPage),
  search: z.string().max(255).optional(),
  folderID: idOf('folder').optional(),
  datasourceID: idOf('datasource').optional(),
});

export const RunList = z.object(pageQuery(standardPage));

export const SchemasQuery = z.object({ datasourceType: z.string().max(64).optional() });

export const DataQuery = z
  .object({
    id: z.uuid(),
    dataQueryID: z.uuid(),
    tenantID: z.uuid(),
    dataQueryTitle: z.string(),
    dataQueryDescription: z.string().nullable(),
    dataQueryOptions: looseObject({}),
    datasourceID: z.uuid().nullable(),
    datasourceType: z.string(),
    runOnLoad: z.boolean(),
    isDisabled: z.boolean(),
    isOfferedAsTool: z.boolean(),
    folderID: z.uuid().nullable(),
    creatorID: z.uuid(),
    createdByApiKeyID: z.uuid().nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'DataQuery', examples: [exampleDataQuery] });

export const DataQueries = z.object({ dataQueries: z.array(DataQuery), ...pageFields }).meta({ id: 'DataQueryPage' });

/** Answer to a change: the query, and a message to show. */
export const Changed = z.object({ dataQuery: DataQuery, message: Message });

const Run = z
  .object({
    queryRunID: z.uuid(),
    dataQueryID: z.uuid(),
    datasourceID: z.uuid().nullable(),
    datasourceType: z.string(),
    caller: Caller.meta({ id: 'Caller' }),
    startedAt: z.iso.datetime(),
    durationMs: z.int(),
    rowCount: z.int().nullable(),
    isCached: z.boolean(),
    error: WorkError.nullable(),
  })
  .meta({ id: 'DataQueryRunRecord', examples: [exampleRun] });

export const Runs = z.object({ runs: z.array(Run), ...pageFields }).meta({ id: 'DataQueryRunPage' });

/** The forms of the options of queries, by the type of the datasource. */
export const DataQuerySchemas = FormsByType;

interface AliasedBody {
  dataQueryOptions: z.output<typeof Options>;
  datasourceID?: string | null | undefined;
  datasourceType?: string | null | undefined;
}

/** Moves the datasource from the options to its place beside them. */
function split(body: AliasedBody) {
  const { datasourceID, datasourceType, ...own } = body.dataQueryOptions;
  return {
    datasourceID: body.datasourceID === undefined ? datasourceID : body.datasourceID,
    datasourceType: body.datasourceType ?? datasourceType ?? undefined,
    dataQueryOptions: own as JsonObject,
  };
}
