import { readActingVersion } from '#shared/access/account-status.ts';
import { type Permission, splitPermission } from '#shared/access/policy/permissions.ts';
import { type Caller, subjectsOf } from '#shared/core/caller.ts';
import { AppError } from '#shared/core/errors.ts';
import { quote } from '#shared/core/quote.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import type { AppPage } from '#shared/entities/tables/app-page.ts';
import type { ApiContext } from '../../context/context.ts';
import { type Binding, bindingsOf, boundTypes } from '../../pages/bindings.ts';
import { creatorOf } from './check.ts';
import { getAppPage } from './find.ts';

export interface Viewing {
  em: EntityManager;
  tenantID: string;
  caller: Caller;
}

export interface OpenPage {
  page: AppPage;
  /** The creator of the page, by request of the viewer. */
  caller: Caller;
  /** Whether the creator of the page has the permission now. */
  mayCreator(permission: Permission, object: string): Promise<boolean>;
}

/** A page that a viewer sees, with what its creator may do. The route has checked that the viewer may read the page. */
export async function openPage(
  { em, tenantID, caller }: Viewing,
  { pool, access: { policy } }: Pick<ApiContext, 'pool' | 'access'>,
  appPageID: string,
): Promise<OpenPage> {
  const page = await getAppPage(em, appPageID);
  const creator = creatorOf(page);
  const { id, userID } = caller;
  const requestedBy = {
    type: caller.type === 'apiKey' ? ('apiKey' as const) : ('user' as const),
    id,
    ...(userID && { userID }),
  };
  return {
    page,
    caller: { ...creator, origin: 'appPage', originID: page.id, requestedBy },
    mayCreator: await allowed(creator, { tenantID, pool, policy }),
  };
}

/** Tells whether the caller has a permission now. */
export async function allowed(
  caller: Caller,
  { tenantID, pool, policy }: { tenantID: string; pool: ApiContext['pool']; policy: ApiContext['access']['policy'] },
): Promise<OpenPage['mayCreator']> {
  const version = await readActingVersion(pool, tenantID, caller);
  const subjects = subjectsOf(caller);
  return async (permission, object) => {
    const [, action] = splitPermission(permission);
    return version !== null && (await policy.can({ tenantID, version, subjects, object, action }));
  };
}

/** Throws for a draft, which runs nothing. */
export function requireNoDraft({ isDraft }: Pick<AppPage, 'isDraft'>): void {
  if (isDraft) throw new AppError('CONFLICT', 'This page is a draft: it runs nothing until it is none any more');
}

/** The binding that a page has now under an alias. */
export function bindingIn({ appPageConfig }: AppPage, type: 'query' | 'workflow' | 'runs', alias: string): Binding {
  const binding = bindingsOf(appPageConfig).find((one) => one.type === type && one.alias === alias);
  if (!binding) throw new AppError('NOT_FOUND', `This page binds no ${boundTypes[type].noun} as ${quote(alias)}`);
  return binding;
}

/** The refusal of what the creator of a page may not do any more. */
export function creatorDenied(noun: string, permission: Permission | undefined = undefined): AppError {
  const [, action = 'execute'] = permission ? splitPermission(permission) : [];
  return new AppError('PERMISSION_DENIED', `The creator of this page may not ${action} this ${noun} any more`, {
    reason: 'page creator',
  });
}
