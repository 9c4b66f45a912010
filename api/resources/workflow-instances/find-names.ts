import type { Pool } from '#shared/db/pool.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import type { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import { WorkflowVersion } from '#shared/entities/tables/workflow-version.ts';
import type { Names } from './present.ts';

type Named = Pick<WorkflowInstance, 'id' | 'workflowID' | 'versionID'>;

/** The titles of the runs' workflows that still exist, the numbers of their versions, and the tags of the runs. */
export async function findNames(em: EntityManager, pool: Pool, runs: readonly Named[]): Promise<Names> {
  const tags = await findTags(pool, runs);
  const workflowIDs = [...new Set(runs.flatMap(({ workflowID }) => workflowID ?? []))];
  if (workflowIDs.length === 0) return { titles: new Map(), numbers: new Map(), tags };
  const versionIDs = [...new Set(runs.map(({ versionID }) => versionID))];
  const workflows = await em.find(Workflow, { id: { $in: workflowIDs } }, { fields: ['title'] });
  const versions = await em.find(WorkflowVersion, { id: { $in: versionIDs } }, { fields: ['number'] });
  return {
    titles: new Map(workflows.map(({ id, title }) => [id, title])),
    numbers: new Map(versions.flatMap(({ id, number }) => (typeof number === 'number' ? [[id, number]] : []))),
    tags,
  };
}

export async function findTags(pool: Pool, runs: readonly Pick<Named, 'id'>[]): Promise<Names['tags']> {
  const { rows } = await pool.query<{ id: string; tags: string[] }>(TAGS, [runs.map(({ id }) => id)]);
  return new Map(rows.map(({ id, tags }) => [id, tags]));
}

const TAGS = `
select instance_id as id, array_agg(tag::text order by tag) as tags from run_tag where instance_id = any($1::uuid[]) group by instance_id`;
