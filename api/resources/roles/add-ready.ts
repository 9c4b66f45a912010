import { z } from 'zod';
import { lockRules } from '#shared/access/policy/change.ts';
import { rulesOfRole } from '#shared/access/policy/roles.ts';
import { inEntityTransaction, onEntities } from '#shared/db/query.ts';
import { Role as RoleEntity } from '#shared/entities/tables/role.ts';
import { createAsset } from '../../assets/assets.ts';
import { addRules, createTogether } from '../../assets/created-together.ts';
import { tenantRoute } from '../../context/routes.ts';
import { requireGrantable } from '../../http/access/grant.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { readyRoles } from '../../people/ready-roles.ts';
import { presentRole } from './present.ts';
import { Role } from './schemas.ts';

export const addReadyRoles = tenantRoute({
  name: 'addReadyRoles',
  method: 'post',
  path: '/roles/ready',
  summary: 'Add the ready roles',
  description:
    'Creates those of the roles Viewer, Operator of runs, Builder and Admin whose name no role of the tenant has, and returns them. New tenants have them from the start. The caller must hold every permission of each role that is created.',
  status: 201,
  permission: 'role.create',
  idempotent: 'transaction',
  response: z.object({ roles: z.array(Role).describe('Those that were created'), message: Message }),

  async handle({ caller, em, tenantID, newAssetID, require, holds }) {
    return inEntityTransaction(em, async () => {
      // Locked, so that of two requests at once the second finds the roles of the first.
      await lockRules(onEntities(em), tenantID);
      const names = readyRoles.map(({ roleName }) => roleName);
      const present = await em.find(RoleEntity, { tenantID, roleName: { $in: names } }, { fields: ['roleName'] });
      const missing = readyRoles.filter(({ roleName }) => !present.some((role) => role.roleName === roleName));
      for (const { permissions } of missing) await requireGrantable({ require, holds }, { permissions });
      const roles = await createTogether(em, tenantID, async () => {
        const created: RoleEntity[] = [];
        for (const ready of missing) {
          const content = { ...ready, id: newAssetID(), assetPermissions: [] };
          created.push(await createAsset(em, caller, 'role', RoleEntity, content));
          await addRules(em, tenantID, rulesOfRole(content));
        }
        return created;
      });
      const message = roles.length === 0 ? 'The tenant has them all' : `Roles added: ${roles.length}`;
      return { roles: roles.map(presentRole), message };
    });
  },
});
