import type { FilterQuery } from '@mikro-orm/postgresql';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { tenantRoute } from '../../context/routes.ts';
import { readLatestVersions, requireVersionsFit } from '../../graphs/workflow-versions.ts';
import { containing, findPage } from '../../http/fields/paging.ts';
import { presentSummary, presentWorkflow } from './present.ts';
import { WorkflowList, Workflows } from './schemas.ts';

export const listWorkflows = tenantRoute({
  name: 'listWorkflows',
  method: 'get',
  path: '/workflows',
  summary: 'List workflows',
  description:
    'Returns the workflows the caller may read, newest first. With `fields=summary`, the graphs are left out.',
  permission: 'workflow.list',
  filter: true,
  query: WorkflowList,
  response: Workflows,
  errors: ['413'],

  async handle({ query, em, tenantID, visible }, { pool }) {
    const where: FilterQuery<Workflow> = {
      ...(await visible('workflow.read')),
      ...(query.search && { title: containing(query.search) }),
      ...(query.folderID && { folderID: query.folderID }),
    };
    const { rows, fields } = await findPage(em, Workflow, { where, query });
    const wanted = { workflowIDs: rows.map(({ id }) => id), withGraphs: query.fields === 'full' };
    await requireVersionsFit(pool, tenantID, wanted);
    const latest = await readLatestVersions(pool, tenantID, wanted);
    const workflows = rows.flatMap((workflow) => {
      const version = latest.get(workflow.id);
      // The workflow was deleted after the page was read.
      if (!version) return [];
      const { nodes, edges } = version;
      return nodes && edges
        ? presentWorkflow(workflow, { ...version, nodes, edges })
        : presentSummary(workflow, version);
    });
    return { workflows, ...fields };
  },
});
