import type { EntityManager } from '#shared/entities/orm.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';

/** The titles of the runs' workflows that still exist, by their ids. */
export async function findTitles(
  em: EntityManager,
  runs: readonly { workflowID?: string | null }[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(runs.flatMap(({ workflowID }) => workflowID ?? []))];
  if (ids.length === 0) return new Map();
  const workflows = await em.find(Workflow, { id: { $in: ids } }, { fields: ['title'] });
  return new Map(workflows.map(({ id, title }) => [id, title]));
}
