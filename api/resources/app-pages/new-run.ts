import { AppError } from '#shared/core/errors.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import type { ApiContext } from '../../context/context.ts';
import { directRun } from '../../runs/direct-run.ts';
import { openBinding } from './open-binding.ts';
import type { Viewing } from './open-page.ts';

type Wanted = Omit<Parameters<typeof openBinding>[2], 'type'>;

/** A run, to be accepted, of the workflow that a page binds under an alias. It runs as the creator of the page. */
export async function newPageRun(
  { em, tenantID, caller }: Viewing,
  context: Pick<ApiContext, 'pool' | 'access' | 'runs'>,
  wanted: Wanted,
) {
  const binding = await openBinding({ em, tenantID, caller }, context, { ...wanted, type: 'workflow' });
  const { id: workflowID, inputs: args } = binding;
  const versionID = await findPublished(em, workflowID);
  const version = await context.runs.executableVersion({ tenantID, versionID });
  if (version.isEmpty) throw new AppError('CONFLICT', 'The workflow that the page binds has no nodes');
  for (const { permission, type, id } of version.assets) await binding.requireOfCreator(permission, `${type}:${id}`);

  // A user who views the page waits for the run, whether a user or an API key has created the page.
  const asked = {
    class: caller.type === 'user' ? ('interactive' as const) : ('batch' as const),
    priority: undefined,
  };
  return directRun(version, { tenantID, workflowID, versionID, caller: binding.caller, args, asked });
}

export async function findPublished(em: EntityManager, id: string): Promise<string> {
  const workflow = await em.findOne(Workflow, { id }, { fields: ['versionID', 'isDisabled'] });
  if (!workflow) throw new AppError('NOT_FOUND', 'The workflow that the page binds is gone');
  if (workflow.isDisabled) throw new AppError('CONFLICT', 'Workflow is disabled');
  if (!workflow.versionID) throw new AppError('CONFLICT', 'The workflow that the page binds has drafts only');
  return workflow.versionID;
}
