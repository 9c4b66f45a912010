import { isSame } from '../../../page/bindings/is-same.ts';
import { assetsOf, type Grants, scopeOf, withScope } from '../../../people/grants.ts';
import type { PageDocument } from '../../document.ts';

type Shared = Pick<PageDocument, 'kind' | 'id' | 'widgets'>;

const permissionOf = { 'app-page': 'appPage.read', dashboard: 'dashboard.read' } as const;

export interface NamedRole extends Grants {
  roleID: string;
  roleName: string;
  isGlobal: boolean;
}

/** How a role opens a page: as one of all, as this one alone, or not. */
export function opensBy(role: Grants, { kind, id }: Shared): 'all' | 'this' | 'none' {
  const permission = permissionOf[kind];
  if (scopeOf(role, permission) === 'all') return 'all';
  return assetsOf(role, permission).includes(id) ? 'this' : 'none';
}

/** The permissions that show a page: to read it, and of a dashboard the widgets too. */
export function needsOf({ kind, id, widgets }: Shared): { permission: string; ids: string[] }[] {
  const page = { permission: permissionOf[kind], ids: [id] };
  if (kind === 'app-page') return [page];
  const own = Object.values(widgets).flatMap((widget) => widget.id ?? []);
  return [page, { permission: 'widget.execute', ids: [...new Set(own)] }];
}

/** The grants of a role that opens a page, beside all that it had. */
export function sharedWith(grants: Grants, page: Shared): Grants {
  return needsOf(page).reduce((now, { permission, ids }) => {
    if (scopeOf(now, permission) === 'all') return now;
    return withScope(now, permission, 'these', [...new Set([...assetsOf(now, permission), ...ids])]);
  }, grants);
}

/** The lists of grants that differ. The others are not sent, since another person may change them. */
export function changedGrants(before: Grants, next: Grants): Partial<Grants> {
  return {
    ...(!isSame(before.rolePermissions, next.rolePermissions) && { rolePermissions: next.rolePermissions }),
    ...(!isSame(before.assetPermissions, next.assetPermissions) && { assetPermissions: next.assetPermissions }),
  };
}

/** The grants of a role without the right to this page; widgets stay, which other pages may show. */
export function unsharedWith(grants: Grants, { kind, id }: Shared): Grants {
  const permission = permissionOf[kind];
  const ids = assetsOf(grants, permission).filter((one) => one !== id);
  return withScope(grants, permission, ids.length > 0 ? 'these' : 'none', ids);
}
