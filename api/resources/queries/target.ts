import { LockMode } from '@mikro-orm/postgresql';
import { runCooperatively } from '#shared/concurrency/cooperative.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { quote } from '#shared/core/quote.ts';
import { type Issue, within } from '#shared/core/schema/issues.ts';
import { checkQuery } from '#shared/datasources/queries/bind.ts';
import { QueryOptions } from '#shared/datasources/queries/options.ts';
import type { DatasourceDefinition } from '#shared/datasources/types/define-datasource.ts';
import { datasources, datasourceTypes, findDatasourceType } from '#shared/datasources/types/index.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Datasource } from '#shared/entities/tables/datasource.ts';
import { definitionIssues } from '#shared/workflow/inputs.ts';
import { typeAccess } from '../../assets/datasource-access.ts';
import { findUnknownFields, type UnknownFields } from '../../http/request/unknown-fields.ts';
import type { Access } from '../../http/route/input.ts';

/** The target of a query as a client names it: a datasource, a type, or both. */
interface NamedTarget {
  datasourceID?: string | null | undefined;
  datasourceType?: string | undefined;
}

/** The target of a query: a stored datasource, or a type that needs none (`datasourceID` is null). */
export interface QueryTarget {
  datasourceID: string | null;
  datasourceType: string;
}

/** Permissions to write or test a query, beside the route's own. */
export function targetAccess({ datasourceID, datasourceType }: NamedTarget): Access[] {
  if (datasourceID) return [{ permission: 'datasource.read', object: `datasource:${datasourceID}` }];
  return typeAccess(datasourceType ?? ownDatabase?.type);
}

/**
 * Returns the target of a query, or the faults of the query; and the options that its type does not know. Within a transaction, the
 * datasource is locked until its end.
 */
export async function checkTarget(
  em: EntityManager,
  { datasourceID, datasourceType, dataQueryOptions }: NamedTarget & { dataQueryOptions: JsonObject },
): Promise<
  ({ target: QueryTarget; issues?: never } | { target?: never; issues: Issue[] }) & { unknown: UnknownFields }
> {
  const none = { fields: [], count: 0 };
  const found = datasourceID
    ? await findStored(em, datasourceID, datasourceType)
    : findAlone(datasourceType ?? ownDatabase?.type);
  if (typeof found !== 'string') return { issues: [found], unknown: none };
  const definition = findType(found);
  if (!definition) return { issues: [unknownType(found)], unknown: none };
  if (definition.listensOnly)
    return {
      issues: [{ path: ['datasourceType'], message: `${definition.label} has no queries: create a listener for it` }],
      unknown: none,
    };
  const unknown = findUnknownFields([QueryOptions, definition.query], dataQueryOptions, ['dataQueryOptions']);
  const issues = within(
    ['dataQueryOptions'],
    [...(await runCooperatively(checkQuery(definition, dataQueryOptions))), ...inputIssues(dataQueryOptions)],
  );
  if (issues.length > 0) return { issues, unknown };
  return { unknown, target: { datasourceID: datasourceID ?? null, datasourceType: definition.type } };
}

/** Faults of declared inputs, for when a query is saved or tested. Stored queries that have such faults run all the same. */
function inputIssues({ inputDefinitions }: JsonObject): Issue[] {
  const { data: definitions = [] } = QueryOptions.shape.inputDefinitions.safeParse(inputDefinitions);
  const repeated = definitions.flatMap(({ key }, at): Issue[] =>
    definitions.findIndex((other) => other.key === key) === at
      ? []
      : [{ path: [at, 'key'], message: `there is another input ${quote(key)}` }],
  );
  return within(['inputDefinitions'], [...definitionIssues(definitions), ...repeated]);
}

async function findStored(em: EntityManager, id: string, wanted: string | undefined): Promise<string | Issue> {
  const lock = em.isInTransaction() ? { lockMode: LockMode.PESSIMISTIC_READ as const } : {};
  const datasource = await em.findOne(Datasource, { id }, { fields: ['datasourceType'], ...lock });
  if (!datasource) return { path: ['datasourceID'], message: 'there is no such datasource' };
  const { datasourceType } = datasource;
  if (wanted === undefined || wanted === datasourceType) return datasourceType;
  return { path: ['datasourceType'], message: `the datasource is of type ${datasourceType}` };
}

function findAlone(type: string | undefined): string | Issue {
  if (type === undefined) return { path: ['datasourceID'], message: 'is required' };
  const definition = findType(type);
  if (!definition) return unknownType(type);
  return definition.standsAlone ? type : { path: ['datasourceID'], message: `is required for the type ${type}` };
}

function findType(type: string): DatasourceDefinition | undefined {
  return findDatasourceType(type);
}

/** The target of a query that names none: the tenant's own database. */
const ownDatabase = (datasources as readonly DatasourceDefinition[]).find(({ standsAlone }) => standsAlone);

export const ownDatabaseType = ownDatabase?.type;

function unknownType(type: string): Issue {
  const message = `expected one of ${datasourceTypes.join(', ')}, received ${quote(type)}`;
  return { path: ['datasourceType'], message };
}
