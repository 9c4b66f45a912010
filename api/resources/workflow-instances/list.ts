import { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import { tenantRoute } from '../../context/routes.ts';
import { findPage } from '../../http/fields/paging.ts';
import { instanceFilters } from './filters.ts';
import { findNames } from './find-names.ts';
import { presentInstanceSummary } from './present.ts';
import { InstanceList, Instances } from './schemas.ts';

export const listInstances = tenantRoute({
  name: 'listWorkflowInstances',
  method: 'get',
  path: '/workflows/instances',
  summary: 'List runs',
  description: 'Returns the runs of the workflows the caller may read, newest first.',
  permission: 'workflow.read',
  filter: true,
  query: InstanceList,
  response: Instances,

  async handle({ query, em, visible }, { pool }) {
    // Test runs of unsaved graphs belong to no workflow: they need the permission on all workflows.
    const seen = await visible('workflow.read', 'workflow_id');
    const where = { $and: [seen, ...(await instanceFilters(em, query, seen))] };
    const { rows, fields } = await findPage(em, WorkflowInstance, { where, query, exclude: ['input', 'output'] });
    const names = await findNames(em, pool, rows);
    return { instances: rows.map((run) => presentInstanceSummary(run, names)), ...fields };
  },
});
