import { z } from 'zod';
import { asData } from '#shared/apps/ai/data.ts';
import { JsonObject } from '#shared/core/json.ts';
import { describeIssues, invalid } from '#shared/core/schema/issues.ts';
import { parseValue } from '#shared/core/schema/parse.ts';
import type { DatasourceDefinition } from '#shared/datasources/types/define-datasource.ts';
import { findDatasourceType } from '#shared/datasources/types/index.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Datasource } from '#shared/entities/tables/datasource.ts';
import { assumptionsIn, type Checked, generateChecked } from '../../ai/generate.ts';
import { tenantRoute } from '../../context/routes.ts';
import { formOf } from '../../http/forms/form.ts';
import { readOwnTables, readTables, type TableColumns } from '../../queries/read-tables.ts';
import { GeneratedQuery, QueryGenerate } from './schemas.ts';
import { checkTarget, ownDatabaseType, targetAccess } from './target.ts';

export const generateDataQuery = tenantRoute({
  name: 'generateQuery',
  method: 'patch',
  path: '/queries/aigenerate',
  summary: 'Generate a data query',
  description:
    "A language model writes a query from a description and the tables of the datasource, without one of the tenant's own database. The query passes the checks of saving; it is neither saved nor run. `assumptions` says what the model took for granted.",
  access: ({ body }) => [
    { permission: 'dataquery.create', object: 'dataquery:*' },
    { permission: 'ai.execute', object: 'ai:*' },
    ...targetAccess(body),
    ...(body.datasourceID ? [] : [{ permission: 'database.metadata', object: 'database:*' } as const]),
  ],
  body: QueryGenerate,
  response: GeneratedQuery,
  errors: ['409', '429', '502', '504'],

  async handle({ body: { aiPrompt, datasourceID = null }, em, tenantID, caller, signal }, { messaging: { producer } }) {
    const datasourceType = await typeOf(em, datasourceID);
    const target = { datasourceID, datasourceType };
    const reading = { tenantID, signal, producer };
    const tables = datasourceID ? await readTables(reading, datasourceID, aiPrompt) : await readOwnTables(reading);
    const found = await generateChecked({
      ...{ tenantID, caller, signal, producer, purpose: 'query' },
      instructions: instructionsFor(datasourceType),
      prompt: `${asData('tables', tables.tables.map(lineOf).join('\n'))}\n\nThe request:\n${aiPrompt}`,
      check: (object) => checkCandidate(em, target, object),
    });
    const { assumptions, ...query } = found;
    const cut = tables.isWhole ? [] : ['The datasource has more tables than were read, so some are not considered.'];
    return {
      dataQuery: { ...query, ...target },
      databaseQuery: textOf(query.dataQueryOptions),
      assumptions: [...assumptions, ...cut],
      message: 'Data query generated; it is not saved',
    };
  },
});

function lineOf({ path, columns }: TableColumns): string {
  return `${path.join('.')}(${columns.map(({ name, type }) => `${name} ${type}`.trim()).join(', ')})`;
}

/** The type whose query is written; of a stored datasource, or that of the tenant's own database. */
async function typeOf(em: EntityManager, datasourceID: string | null): Promise<string> {
  const path = ['datasourceID'];
  if (datasourceID === null) {
    if (ownDatabaseType === undefined) throw invalid([{ path, message: 'is required' }]);
    return ownDatabaseType;
  }
  const datasource = await em.findOne(Datasource, { id: datasourceID }, { fields: ['datasourceType'] });
  if (!datasource) throw invalid([{ path, message: 'there is no such datasource' }]);
  const definition: DatasourceDefinition | undefined = findDatasourceType(datasource.datasourceType);
  if (!definition || definition.listensOnly) throw invalid([{ path, message: 'this datasource has no queries' }]);
  return datasource.datasourceType;
}

const Candidate = z.object({ dataQueryTitle: z.string().min(1).max(255), dataQueryOptions: JsonObject });

/**
 * Checks a candidate as when it is saved. Fields that the type does not know are faults here: the model has invented
 * them.
 */
async function checkCandidate(
  em: EntityManager,
  target: { datasourceID: string | null; datasourceType: string },
  object: JsonObject,
): Promise<Checked<z.output<typeof Candidate> & { assumptions: string[] }>> {
  const given = parseValue(Candidate, object);
  if (!given.success) return { faults: describeIssues(given.issues) };
  const { dataQueryTitle, dataQueryOptions } = given.data;
  const { issues = [], unknown } = await checkTarget(em, { ...target, dataQueryOptions });
  const faults = [...issues, ...unknown.fields.map(({ path }) => ({ path: [...path], message: 'is unknown' }))];
  if (faults.length > 0) return { faults: describeIssues(faults) };
  return { value: { dataQueryTitle, dataQueryOptions, assumptions: assumptionsIn(object) } };
}

/** The statement of a query whose options contain one, such as SQL. */
function textOf({ query }: JsonObject): string | null {
  return typeof query === 'string' ? query : null;
}

function instructionsFor(type: string): string {
  const definition: DatasourceDefinition | undefined = findDatasourceType(type);
  const schema = definition ? formOf(definition.query).schema : {};
  return [
    `You write one query for a datasource of the type ${type} (${definition?.label ?? type}), as a JSON object {"dataQueryTitle": a short title, "dataQueryOptions": the query, "assumptions": a list of sentences about all that the request left open and you decided}.`,
    `"dataQueryOptions" has this JSON Schema: ${JSON.stringify(schema)}`,
    'Use only tables and columns that the data names. Prefer queries that read; write one that changes rows only if the request says so.',
    'A value that the caller gives at run time is {{inputs.name}}, never put between quotes. "dataQueryOptions.inputDefinitions" declares them: a list of {"key": the name, "type": "string", "number", "integer", "boolean", "date", "datetime", "array" or "object", "required": true or false}.',
  ].join('\n');
}
