import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Workflow as WorkflowEntity } from '#shared/entities/tables/workflow.ts';
import { WorkflowVersion } from '#shared/entities/tables/workflow-version.ts';
import { diffGraphs } from '#shared/workflow/graph/diff.ts';
import { tenantRoute } from '../../../context/routes.ts';
import { holdVersion, isTestedAs } from '../../../graphs/workflow-versions.ts';
import { findPage } from '../../../http/fields/paging.ts';
import { DiffQuery } from '../../../http/fields/version-name.ts';
import { WorkflowID } from '../../../runs/run-schemas.ts';
import { presentVersion, presentVersionSummary } from '../present.ts';
import { publishVersion, restoreVersion } from './publish.ts';
import { Version, VersionDiff, VersionID, VersionList, VersionSummary, Versions, VersionUpdate } from './schemas.ts';

export const versionRoutes = [
  tenantRoute({
    name: 'listWorkflowVersions',
    method: 'get',
    path: '/workflows/:workflowID/versions',
    summary: 'List versions of a workflow',
    description: 'Returns the versions of a workflow without their graphs, newest first.',
    permission: 'workflow.read',
    object: ({ params }) => `workflow:${params.workflowID}`,
    params: WorkflowID,
    query: VersionList,
    response: Versions,

    async handle({ params, query, em }) {
      const workflow = await getWorkflow(em, params.workflowID);
      const where = { workflowID: workflow.id };
      const exclude = ['nodes', 'edges', 'options'] as const;
      const { rows, fields } = await findPage(em, WorkflowVersion, { where, query, exclude });
      return { versions: rows.map((version) => presentVersionSummary(version, workflow)), ...fields };
    },
  }),

  tenantRoute({
    name: 'getWorkflowVersion',
    method: 'get',
    path: '/workflows/:workflowID/versions/:versionID',
    summary: 'Get a version of a workflow',
    description: 'Returns a version with its graph; also the graph of a test of this workflow.',
    permission: 'workflow.read',
    object: ({ params }) => `workflow:${params.workflowID}`,
    params: VersionID,
    response: z.object({ version: Version }),

    async handle({ params, em }, { pool }) {
      const workflow = await getWorkflow(em, params.workflowID);
      return { version: presentVersion(await getVersion({ em, pool }, workflow.id, params.versionID), workflow) };
    },
  }),

  tenantRoute({
    name: 'diffWorkflowVersion',
    method: 'get',
    path: '/workflows/:workflowID/versions/:versionID/diff',
    summary: 'Compare versions of a workflow',
    description: 'Returns the nodes and edges that a version added, removed or changed, with the paths that changed.',
    permission: 'workflow.read',
    object: ({ params }) => `workflow:${params.workflowID}`,
    params: VersionID,
    query: DiffQuery,
    response: z.object({ diff: VersionDiff }),

    async handle({ params, query, em }, { pool }) {
      const workflow = await getWorkflow(em, params.workflowID);
      const after = await getVersion({ em, pool }, workflow.id, params.versionID);
      const before = await findVersionToCompare({ em, pool }, after, query.against);
      const empty = { nodes: [], edges: [], options: {} };
      return {
        diff: {
          before: before && presentVersionSummary(before, workflow),
          after: presentVersionSummary(after, workflow),
          ...diffGraphs(before ?? empty, after),
        },
      };
    },
  }),

  tenantRoute({
    name: 'updateWorkflowVersion',
    method: 'patch',
    path: '/workflows/:workflowID/versions/:versionID',
    summary: 'Label a version of a workflow',
    description: 'Gives a version a label, or removes it. A version with a label is kept as long as its workflow.',
    permission: 'workflow.update',
    object: ({ params }) => `workflow:${params.workflowID}`,
    params: VersionID,
    body: VersionUpdate,
    response: z.object({ version: VersionSummary }),

    async handle({ params, body, em }) {
      const workflow = await getWorkflow(em, params.workflowID);
      const version = await em.findOne(
        WorkflowVersion,
        { id: params.versionID, workflowID: workflow.id },
        { exclude: ['nodes', 'edges', 'options'] },
      );
      if (!version) throw noSuchVersion();
      version.label = body.label;
      await em.flush();
      return { version: presentVersionSummary(version, workflow) };
    },
  }),

  publishVersion,
  restoreVersion,
];

async function getWorkflow(em: EntityManager, id: string): Promise<Pick<WorkflowEntity, 'id' | 'versionID'>> {
  const workflow = await em.findOne(WorkflowEntity, { id }, { fields: ['versionID'] });
  if (!workflow) throw new AppError('NOT_FOUND', 'Workflow not found');
  return workflow;
}

/** A version of the workflow, or the graph of a test that was started for it. */
async function getVersion(
  { em, pool }: { em: EntityManager; pool: Pool },
  workflowID: string,
  id: string,
): Promise<WorkflowVersion> {
  await holdVersion(pool, id);
  const version = await em.findOne(WorkflowVersion, { id, $or: [{ workflowID }, { workflowID: null }] });
  if (version?.workflowID) return version;
  if (!version || !(await isTestedAs(pool, version, workflowID))) throw noSuchVersion();
  return version;
}

/** The version to compare with: the named one, or else the one before; null if the version is the first. */
async function findVersionToCompare(
  { em, pool }: { em: EntityManager; pool: Pool },
  { workflowID, number }: WorkflowVersion,
  against: z.output<typeof DiffQuery>['against'],
): Promise<WorkflowVersion | null> {
  const named = typeof against === 'number' ? { number: against } : { id: against };
  const wanted = against === undefined ? { number: { $lt: number ?? 0 } } : named;
  const other = await em.findOne(
    WorkflowVersion,
    { workflowID, ...wanted },
    { fields: ['id'], orderBy: { number: 'desc' } },
  );
  if (!other && against !== undefined) throw noSuchVersion();
  if (!other) return null;
  await holdVersion(pool, other.id);
  return em.findOneOrFail(WorkflowVersion, { id: other.id }, { refresh: true });
}

function noSuchVersion(): AppError {
  return new AppError('NOT_FOUND', 'Version not found');
}
