import { readRoleIDs } from '#shared/access/policy/roles.ts';
import { invalid } from '#shared/core/schema/issues.ts';
import { onEntities } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { AppPage } from '#shared/entities/tables/app-page.ts';
import { Role } from '#shared/entities/tables/role.ts';
import { isAllowed } from '../../http/access/grant.ts';

/** Throws unless the tenant has the page. */
export async function requireHomePage(em: EntityManager, homePageID: string | null | undefined): Promise<void> {
  if (!homePageID || (await em.count(AppPage, { id: homePageID })) > 0) return;
  throw invalid([{ path: ['homePageID'], message: 'there is no such page' }]);
}

interface Member {
  em: EntityManager;
  tenantID: string;
  userID: string;
  require: Parameters<typeof isAllowed>[0]['require'];
}

/** The page in which a member begins: that of the first role, by name, that has one which the member may read. */
export async function findHomePage({ em, tenantID, userID, require }: Member): Promise<string | null> {
  const roleIDs = (await readRoleIDs(onEntities(em), tenantID, [userID])).get(userID) ?? [];
  if (roleIDs.length === 0) return null;
  const roles = await em.find(
    Role,
    { id: { $in: [...roleIDs] }, homePageID: { $ne: null } },
    { fields: ['homePageID'], orderBy: { roleName: 'asc', id: 'asc' } },
  );
  for (const { homePageID } of roles) {
    const object = `appPage:${homePageID}`;
    if (homePageID && (await isAllowed({ require }, { permission: 'appPage.read', object }))) return homePageID;
  }
  return null;
}
