import type { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { queryGroups } from '#shared/core/schema/form-groups.ts';
import { QueryOptions } from '#shared/datasources/queries/options.ts';
import type { DatasourceDefinition } from '#shared/datasources/types/define-datasource.ts';
import { datasources } from '#shared/datasources/types/index.ts';
import { tenantRoute } from '../../context/routes.ts';
import { formOf, joinForms } from '../../http/forms/form.ts';
import { DataQuerySchemas, SchemasQuery } from './schemas.ts';

export const describeDataQueries = tenantRoute({
  name: 'getDataQuerySchemas',
  method: 'get',
  path: '/queries/schemas',
  summary: 'Get the query options of each type',
  description: 'Returns, for each type of datasource, a JSON Schema and a form of the options of its queries.',
  permission: 'dataquery.list',
  filter: true,
  query: SchemasQuery,
  response: DataQuerySchemas,

  async handle({ query: { datasourceType } }) {
    const wanted = datasourceType === undefined ? types : [getType(datasourceType)];
    return {
      schemas: Object.fromEntries(wanted.map((definition) => [definition.type, describe(definition)])),
      message: 'Data query schemas',
    };
  },
});

const types = (datasources as readonly DatasourceDefinition[]).filter(({ listensOnly }) => !listensOnly);

function getType(type: string): DatasourceDefinition {
  const definition = types.find((one) => one.type === type);
  if (!definition) throw new AppError('SCHEMA_NOT_FOUND', `There is no datasource type "${type}"`);
  return definition;
}

type Description = z.input<typeof DataQuerySchemas>['schemas'][string];

function describe({ type, label, category, query, defaults }: DatasourceDefinition): Description {
  const data = { ...(defaults.query as Description['data']), ...QueryOptions.parse({}) };
  const form = joinForms(formOf(query), formOf(QueryOptions), { groups: queryGroups });
  return { datasourceType: type, label, category, ...form, data };
}
