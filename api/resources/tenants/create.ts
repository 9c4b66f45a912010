import { z } from 'zod';
import { Membership } from '#shared/db/entities/membership.ts';
import { Tenant as TenantEntity } from '#shared/db/entities/tenant.ts';
import { newID } from '#shared/ids.ts';
import { changeRules } from '#shared/policy/change.ts';
import { sealedColumns } from '#shared/sealed-columns.ts';
import { userRoute } from '../../http/route.ts';
import { presentTenant } from './present.ts';
import { Tenant, TenantCreate } from './schemas.ts';

export const createTenant = userRoute({
  method: 'post',
  path: '/api/v1/tenants',
  summary: 'Create a tenant; its creator may do everything in it',
  status: 201,
  body: TenantCreate,
  idempotent: 'transaction',
  response: z.object({ tenant: Tenant }),

  async handle({ body, identity: { userID }, em }, { secrets }) {
    const { tenantTitle, tenantDescription } = body;
    const tenantID = newID();
    // Its form is checked and nothing more: the database may be behind a network that is opened later (see dbtest).
    const tenantDBURL = body.tenantDBURL
      ? secrets.seal(body.tenantDBURL, sealedColumns.tenantDBURL.context(tenantID))
      : null;
    const tenant = em.create(TenantEntity, {
      id: tenantID,
      tenantTitle,
      tenantDescription,
      tenantDBURL,
      creatorID: userID,
    });
    // First, for what refers to it; all of it is one transaction.
    await em.flush();
    em.create(Membership, { tenantID, userID, role: 'ADMIN' });
    await changeRules(em, tenantID, { add: [{ subject: userID, object: '*', action: '*' }] });
    return { tenant: presentTenant(tenant) };
  },
});
