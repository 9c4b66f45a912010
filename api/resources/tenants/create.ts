import { z } from 'zod';
import { insertFrom, wholeEntry } from '#shared/access/audit/records.ts';
import { readable } from '#shared/access/audit/redact.ts';
import { changeRules, type RuleSpec } from '#shared/access/policy/change.ts';
import { roleSubject, rulesOfRole } from '#shared/access/policy/roles.ts';
import { requireQuota } from '#shared/access/quotas.ts';
import { AppError, toAppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import { onEntities, type Query } from '#shared/db/query.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import { Membership } from '#shared/entities/tables/membership.ts';
import { Role } from '#shared/entities/tables/role.ts';
import { Tenant as TenantEntity } from '#shared/entities/tables/tenant.ts';
import { datasourceTests } from '#shared/messaging/queues/datasource-tests.ts';
import { userRoute } from '../../context/routes.ts';
import { readyRoles } from '../../people/ready-roles.ts';
import { presentTenant } from './present.ts';
import { DatabaseConnection, Tenant, TenantCreate } from './schemas.ts';

export const createTenant = userRoute({
  name: 'createTenant',
  method: 'post',
  path: '/api/v1/tenants',
  summary: 'Create a tenant',
  description:
    'The creator becomes its administrator. The tenant has the roles Viewer, Operator of runs, Builder and Admin, which it may change and delete as any other. With `tenantDBURL`, a worker tries to connect to that database; the tenant is created whether or not the connection works.',
  status: 201,
  body: TenantCreate,
  idempotent: 'transaction',
  response: z.object({ tenant: Tenant, tenantDBConnection: DatabaseConnection.optional() }),

  async handle({ body, identity: { userID }, em }, { secrets, config }) {
    const { tenantTitle, tenantDescription } = body;
    if (config.tenantCreation === 'operators') await requireOperatorsAddress(onEntities(em), userID);
    await requireQuota(onEntities(em), { quota: 'tenants', ownerID: userID });
    const tenantID = newID();
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
    // Written first, since other rows refer to it; all in one transaction.
    await em.flush();
    em.create(Membership, { tenantID, userID, role: 'ADMIN' });
    const roles = readyRoles.map((role) => ({ ...role, id: newID(), assetPermissions: [] }));
    for (const role of roles) em.create(Role, { ...role, tenantID, creatorID: userID });
    await changeRules(em, tenantID, { add: firstRules({ userID }, roles) });
    const entry = firstEntry({ tenantID, userID }, { tenantTitle, tenantDescription });
    await onEntities(em)(insertFrom('$1::jsonb'), [JSON.stringify([entry])]);
    return { tenant: presentTenant(tenant) };
  },

  /** The tenant is created even if the test fails: its database may be reachable only later. */
  async complete(answer, { body: { tenantDBURL }, identity: { userID }, signal }, { messaging: { producer } }) {
    if (!tenantDBURL) return answer;
    const payload = { kind: 'url', url: tenantDBURL } as const;
    const tenantDBConnection = await producer
      .request(datasourceTests, payload, { signal, limitKeys: { user: userID } })
      .then(
        () => ({ connected: true }),
        (error: unknown) => ({ connected: false, message: toAppError(error).message }),
      );
    return { ...answer, tenantDBConnection };
  },
});

/** A user whom the identity provider knows by the address of an operator is that operator. */
async function requireOperatorsAddress(query: Query, userID: string): Promise<void> {
  const { rowCount } = await query(
    `select from app_user u join operator o on o.email = lower(u.email collate "C") and not o.is_disabled
     where u.id = $1 and u.email_verified_at is not null`,
    [userID],
  );
  if (rowCount === 0)
    throw new AppError(
      'PERMISSION_DENIED',
      'Only operators create tenants here: ask one to create yours and to add you',
    );
}

/** The creator may do everything, and owns the ready roles as they would any other asset. */
function firstRules({ userID }: { userID: string }, roles: readonly Parameters<typeof rulesOfRole>[0][]): RuleSpec[] {
  const own = roles.map(({ id }) => ({ subject: userID, object: roleSubject(id), action: '*' }));
  return [{ subject: userID, object: '*', action: '*' }, ...own, ...roles.flatMap(rulesOfRole)];
}

/** The audit trail of a tenant begins with its creation, by a request that has no tenant yet. */
function firstEntry(by: { tenantID: string; userID: string }, body: object) {
  return wholeEntry({
    ...by,
    type: 'API_REQUEST',
    action: 'POST',
    path: createTenant.path,
    assetType: 'tenant',
    assetID: by.tenantID,
    status: 201,
    details: { request: { operation: createTenant.name, method: 'POST', body: readable(body) } },
  });
}
