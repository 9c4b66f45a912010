import { z } from 'zod';
import { changeRules } from '#shared/access/policy/change.ts';
import { rulesOfRole } from '#shared/access/policy/roles.ts';
import { Role as RoleEntity } from '#shared/entities/tables/role.ts';
import { createAsset } from '../../assets/assets.ts';
import { tenantRoute } from '../../context/routes.ts';
import { requireGrantable } from '../../http/access/grant.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { requireHomePage } from './home-page.ts';
import { presentRole } from './present.ts';
import { Role, RoleCreate } from './schemas.ts';

export const createRole = tenantRoute({
  name: 'createRole',
  method: 'post',
  path: '/roles',
  summary: 'Create a role',
  description: 'The caller must hold every permission of the role.',
  status: 201,
  permission: 'role.create',
  body: RoleCreate,
  idempotent: 'transaction',
  response: z.object({ role: Role, message: Message }),

  async handle({ body, caller, em, tenantID, newAssetID, require, holds }) {
    const { roleName, roleDescription, permissions = [], assetPermissions = [], folderID, homePageID } = body;
    await requireGrantable({ require, holds }, { permissions, assetPermissions });
    await requireHomePage(em, homePageID);
    const content = { id: newAssetID(), permissions, assetPermissions };
    const described = { roleName, roleDescription, folderID, homePageID };
    const role = await createAsset(em, caller, 'role', RoleEntity, { ...content, ...described });
    await changeRules(em, tenantID, { add: rulesOfRole(content) });
    return { role: presentRole(role), message: 'Role created' };
  },
});
