import { DataQuery } from '#shared/entities/tables/data-query.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { findWorkflowsThatRun } from '../../assets/calling-workflows.ts';
import { tenantRoute } from '../../context/routes.ts';
import { getDatasource } from './find.ts';
import { DatasourceID, Usage } from './schemas.ts';

/** Queries and workflows that are named; further ones are only counted. */
const SHOWN = 200;

export const readUsage = tenantRoute({
  name: 'getDatasourceUsage',
  method: 'get',
  path: '/datasources/:datasourceID/usage',
  summary: 'Get the usage of a datasource',
  description:
    'Returns what would stop working without a datasource: its data queries and the workflows that run them.',
  permission: 'datasource.read',
  object: ({ params }) => `datasource:${params.datasourceID}`,
  params: DatasourceID,
  response: Usage,

  async handle({ params, em, tenantID, visible }, { pool }) {
    const { id: datasourceID } = await getDatasource(em, params.datasourceID);
    const own = await em.find(DataQuery, { datasourceID }, { fields: ['id'] });
    const running = await findWorkflowsThatRun(pool, tenantID, { datasourceID });
    const page = { limit: SHOWN, orderBy: { createdAt: 'desc' as const } };
    const queries = await em.find(DataQuery, { datasourceID, ...(await visible('dataquery.read')) }, page);
    const workflows = await em.find(Workflow, { id: { $in: running }, ...(await visible('workflow.read')) }, page);
    return {
      dataQueries: queries.map(({ id, dataQueryTitle }) => ({ dataQueryID: id, dataQueryTitle })),
      workflows: workflows.map(({ id, title }) => ({ workflowID: id, workflowTitle: title })),
      others: { dataQueries: own.length - queries.length, workflows: running.length - workflows.length },
    };
  },
});
