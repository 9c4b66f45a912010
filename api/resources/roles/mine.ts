import { type Permission, permissions, splitPermission } from '#shared/access/policy/permissions.ts';
import { tenantRoute } from '../../context/routes.ts';
import { isAllowed } from '../../http/access/grant.ts';
import { findHomePage } from './home-page.ts';
import { HeldPermissions, HeldQuery } from './schemas.ts';

export const listMyPermissions = tenantRoute({
  name: 'listMyPermissions',
  method: 'get',
  path: '/permissions/mine',
  summary: 'List the permissions of the caller',
  description:
    'Returns what the caller may do in this tenant, so that an interface offers nothing that would be refused. Every member may ask. Each request is checked all the same.',
  forMembers: true,
  query: HeldQuery,
  response: HeldPermissions,

  async handle({ query: { object }, scopeOf, require, em, tenantID, identity }) {
    if (object) {
      const assigned: Permission[] = [];
      for (const permission of permissions) {
        const isOfType = splitPermission(permission)[0] === object.slice(0, object.indexOf(':'));
        if (isOfType && (await isAllowed({ require }, { permission, object }))) assigned.push(permission);
      }
      return { permissions: assigned, permissionsOnSome: [] };
    }
    const scopes = await Promise.all(permissions.map(scopeOf));
    const those = (wanted: 'all' | 'some') => permissions.filter((_permission, index) => scopes[index] === wanted);
    const homePageID = identity.apiKeyID
      ? null
      : await findHomePage({ em, tenantID, userID: identity.userID, require });
    return { permissions: those('all'), permissionsOnSome: those('some'), homePageID };
  },
});
