import { z } from 'zod';
import { TenantVariable } from '#shared/entities/tables/tenant-variable.ts';
import { tenantRoute } from '../../context/routes.ts';
import { containing, findPage } from '../../http/fields/paging.ts';
import { createVariable } from './create.ts';
import { deleteVariable } from './delete.ts';
import { getVariable } from './find.ts';
import { presentVariable } from './present.ts';
import { Variable, VariableID, VariableList, Variables } from './schemas.ts';
import { updateVariable } from './update.ts';
import { readVariableUsage } from './usage.ts';

export const variableRoutes = [
  tenantRoute({
    name: 'listVariables',
    method: 'get',
    path: '/variables',
    summary: 'List variables',
    description: 'Returns the variables the caller may read, newest first. Secrets are masked.',
    permission: 'variable.list',
    filter: true,
    query: VariableList,
    response: Variables,

    async handle({ query, em, visible }, { secrets }) {
      const where = { ...(await visible('variable.read')), ...(query.search && { name: containing(query.search) }) };
      const { rows, fields } = await findPage(em, TenantVariable, { where, query });
      return { variables: rows.map((row) => presentVariable(row, secrets)), ...fields };
    },
  }),

  createVariable,

  tenantRoute({
    name: 'getVariable',
    method: 'get',
    path: '/variables/:variableID',
    summary: 'Get a variable',
    description: 'Returns a variable. A secret is masked.',
    permission: 'variable.read',
    object: ({ params }) => `variable:${params.variableID}`,
    params: VariableID,
    response: z.object({ variable: Variable }),

    async handle({ params, em }, { secrets }) {
      return { variable: presentVariable(await getVariable(em, params.variableID), secrets) };
    },
  }),

  readVariableUsage,
  updateVariable,
  deleteVariable,
];
