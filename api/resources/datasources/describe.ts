import type { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { datasourceGroups } from '#shared/core/schema/form-groups.ts';
import type { DatasourceDefinition } from '#shared/datasources/types/define-datasource.ts';
import { datasources, findDatasourceType } from '#shared/datasources/types/index.ts';
import { tenantRoute } from '../../context/routes.ts';
import { formOf } from '../../http/forms/form.ts';
import { DatasourceSchemas, SchemasQuery } from './schemas.ts';

export const describeDatasources = tenantRoute({
  name: 'getDatasourceSchemas',
  method: 'get',
  path: '/datasources/schemas',
  summary: 'Get the types of datasources',
  description: 'Returns the types of datasources, each with a JSON Schema and a form of its options.',
  permission: 'datasource.list',
  filter: true,
  query: SchemasQuery,
  response: DatasourceSchemas,

  async handle({ query: { datasourceType } }) {
    const wanted = datasourceType === undefined ? datasources : [getType(datasourceType)];
    return {
      schemas: Object.fromEntries(wanted.map((definition) => [definition.type, describe(definition)])),
      message: 'Datasource schemas',
    };
  },
});

function getType(type: string): DatasourceDefinition {
  const definition = findDatasourceType(type);
  if (!definition) throw new AppError('SCHEMA_NOT_FOUND', `There is no datasource type "${type}"`);
  return definition;
}

type Description = z.input<typeof DatasourceSchemas>['schemas'][string];

function describe({ type, label, category, options, defaults }: DatasourceDefinition): Description {
  return {
    datasourceType: type,
    label,
    category,
    ...formOf(options, { groups: datasourceGroups }),
    data: defaults.options as Description['data'],
  };
}
