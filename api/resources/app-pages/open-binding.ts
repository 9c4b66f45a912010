import { readActingVersion } from '#shared/access/account-status.ts';
import { type Permission, splitPermission } from '#shared/access/policy/permissions.ts';
import { type Caller, subjectsOf } from '#shared/core/caller.ts';
import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { quote } from '#shared/core/quote.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import type { ApiContext } from '../../context/context.ts';
import { bindingsOf, boundTypes } from '../../pages/bindings.ts';
import { resolveParameters } from '../../pages/parameters.ts';
import { creatorOf } from './check.ts';
import { getAppPage } from './find.ts';

interface Viewing {
  em: EntityManager;
  tenantID: string;
  caller: Caller;
}

interface Wanted {
  appPageID: string;
  type: 'query' | 'workflow';
  alias: string;
  /** Values that the viewer has sent. */
  given: JsonObject;
}

export interface OpenBinding {
  /** The id of the query or the workflow. */
  id: string;
  inputs: JsonObject;
  /** The creator of the page, by request of the viewer. */
  caller: Caller;
  /** Throws unless the creator of the page has the permission now. */
  requireOfCreator(permission: Permission, object: string): Promise<void>;
}

/**
 * Opens the binding that a viewer runs through a page: one that the page has now, with parameters that it declares, as long as the creator of
 * the page may execute it. The viewer needs no permission but that to read the page, which the route has checked.
 */
export async function openBinding(
  { em, tenantID, caller }: Viewing,
  { pool, access: { policy } }: Pick<ApiContext, 'pool' | 'access'>,
  { appPageID, type, alias, given }: Wanted,
): Promise<OpenBinding> {
  const page = await getAppPage(em, appPageID);
  if (page.isDraft) throw new AppError('CONFLICT', 'This page is a draft: it runs nothing until it is none any more');
  const binding = bindingsOf(page.appPageConfig).find((one) => one.type === type && one.alias === alias);
  if (!binding) throw new AppError('NOT_FOUND', `This page binds no ${boundTypes[type].noun} as ${quote(alias)}`);
  const inputs = resolveParameters(binding.inputValues, given);

  const creator = creatorOf(page);
  const version = await readActingVersion(pool, tenantID, creator);
  const requireOfCreator = async (permission: Permission, object: string) => {
    const [, action] = splitPermission(permission);
    const access = { subjects: subjectsOf(creator), object, action };
    if (version !== null && (await policy.can({ tenantID, version, ...access }))) return;
    throw new AppError(
      'PERMISSION_DENIED',
      `The creator of this page may not execute this ${boundTypes[type].noun} any more`,
      {
        reason: 'page creator',
      },
    );
  };
  const { resource } = boundTypes[type];
  await requireOfCreator(`${resource}.execute`, `${resource}:${binding.id}`);
  const { id, userID } = caller;
  const requestedBy = {
    type: caller.type === 'apiKey' ? ('apiKey' as const) : ('user' as const),
    id,
    ...(userID && { userID }),
  };
  return {
    id: binding.id,
    inputs,
    caller: { ...creator, origin: 'appPage', originID: page.id, requestedBy },
    requireOfCreator,
  };
}
