import type { FilterQuery } from '@mikro-orm/postgresql';
import { Workflow } from '#shared/db/entities/workflow.ts';
import { WorkflowVersion } from '#shared/db/entities/workflow-version.ts';
import type { EntityManager } from '#shared/db/orm.ts';
import { containing, findPage } from '../../http/paging.ts';
import { tenantRoute } from '../../http/route.ts';
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

  async handle({ query, em, visible }) {
    const where: FilterQuery<Workflow> = {
      ...(await visible('workflow.read')),
      ...(query.search && { title: containing(query.search) }),
      ...(query.folderID && { folderID: query.folderID }),
    };
    const { rows, fields } = await findPage(em, Workflow, { where, query });
    const graphs = query.fields === 'full' ? await findGraphs(em, rows) : undefined;
    const workflows = rows.map((workflow) => {
      const graph = graphs?.get(workflow.versionID);
      return graph ? presentWorkflow(workflow, graph) : presentSummary(workflow);
    });
    return { workflows, ...fields };
  },
});

async function findGraphs(em: EntityManager, workflows: readonly Workflow[]): Promise<Map<string, WorkflowVersion>> {
  const ids = workflows.map(({ versionID }) => versionID);
  const versions = await em.find(WorkflowVersion, { id: { $in: ids } }, { disableIdentityMap: true });
  return new Map(versions.map((version) => [version.id, version]));
}
