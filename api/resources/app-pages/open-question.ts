import { readApproverNames } from '#shared/access/policy/approvers.ts';
import { AppError } from '#shared/core/errors.ts';
import { onEntities } from '#shared/db/query.ts';
import { CollectionRequest } from '#shared/entities/tables/collection-request.ts';
import { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import type { Identity } from '../../auth/identity.ts';
import type { ApiContext } from '../../context/context.ts';
import { bindingsOf } from '../../pages/bindings.ts';
import { creatorDenied, openPage, requireNoDraft, type Viewing } from './open-page.ts';

export interface Answering extends Viewing {
  identity: Identity;
}

/**
 * A question of a run that this page has started, for a viewer who may answer it, or who has started the run. It is for a viewer: one that names the viewer as an approver, or a form
 * without approvers, of a run that the viewer has started. An approval without approvers is not for the viewer who asks for it.
 */
export async function openQuestion(
  { identity, ...viewing }: Answering,
  context: Pick<ApiContext, 'pool' | 'access'>,
  { appPageID, appPageQuestionID }: { appPageID: string; appPageQuestionID: string },
) {
  const { em, tenantID, caller } = viewing;
  const { page, mayCreator } = await openPage(viewing, context, appPageID);
  requireNoDraft(page);
  const request = await em.findOne(CollectionRequest, { id: appPageQuestionID });
  const fields = ['workflowID', 'status', 'caller'] as const;
  const run = request && (await em.findOne(WorkflowInstance, { id: request.instanceID }, { fields }));
  const isOfPage = run?.caller.origin === 'appPage' && run.caller.originID === page.id;
  const binding = bindingsOf(page.appPageConfig).find(({ type, id }) => type === 'workflow' && id === run?.workflowID);
  if (!request || !run || !isOfPage || !binding) throw unknown();

  const isOwnRun = run.caller.requestedBy?.id === caller.id;
  const names = identity.apiKeyID ? [] : await readApproverNames(onEntities(em), tenantID, identity.userID);
  const mayAnswer = isFor(request, { userID: identity.userID, names, isOwnRun });
  if (!mayAnswer && !isOwnRun) throw unknown();
  if (!(await mayCreator('workflow.execute', `workflow:${binding.id}`))) throw creatorDenied('workflow');
  return { request, run, workflowAlias: binding.alias, isOwnRun, mayAnswer };
}

function isFor(
  {
    collectionConfig: { approvers, notBy },
    collectionType,
  }: Pick<CollectionRequest, 'collectionConfig' | 'collectionType'>,
  viewer: { userID: string; names: readonly string[]; isOwnRun: boolean },
): boolean {
  if (notBy === viewer.userID) return false;
  if (approvers === undefined) return viewer.isOwnRun && collectionType !== 'approval';
  return Array.isArray(approvers) && viewer.names.some((name) => approvers.includes(name));
}

/** Questions of others are not there for a viewer, so that ids tell nothing. */
function unknown(): AppError {
  return new AppError('NOT_FOUND', 'Question not found');
}
