import { Workflow } from '#shared/db/entities/workflow.ts';
import type { WorkflowInstance } from '#shared/db/entities/workflow-instance.ts';
import { WorkflowVersion } from '#shared/db/entities/workflow-version.ts';
import type { EntityManager } from '#shared/db/orm.ts';
import type { Names } from './present.ts';

/** The titles of the runs' workflows that still exist, and the numbers of their versions. */
export async function findNames(
  em: EntityManager,
  runs: readonly Pick<WorkflowInstance, 'workflowID' | 'versionID'>[],
): Promise<Names> {
  const workflowIDs = [...new Set(runs.flatMap(({ workflowID }) => workflowID ?? []))];
  if (workflowIDs.length === 0) return { titles: new Map(), numbers: new Map() };
  const versionIDs = [...new Set(runs.map(({ versionID }) => versionID))];
  const workflows = await em.find(Workflow, { id: { $in: workflowIDs } }, { fields: ['title'] });
  const versions = await em.find(WorkflowVersion, { id: { $in: versionIDs } }, { fields: ['number'] });
  return {
    titles: new Map(workflows.map(({ id, title }) => [id, title])),
    numbers: new Map(versions.flatMap(({ id, number }) => (typeof number === 'number' ? [[id, number]] : []))),
  };
}
