import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { deleteTenant as deleteEverything, shutTenant, TENANT_DELETED_CHANNEL } from '#shared/tenants/delete-tenant.ts';
import { tenantRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { TenantID } from './schemas.ts';

/** A tenant with millions of rows takes longer than a client waits. */
const ANSWER_AFTER_MS = 10_000;

export const deleteTenant = tenantRoute({
  name: 'deleteTenant',
  method: 'delete',
  path: '',
  summary: 'Delete a tenant',
  description:
    'Deletes a tenant and everything it owns. Runs in flight are cancelled. A large tenant is deleted in the background after the answer.',
  permission: 'tenant.delete',
  object: ({ params }) => `tenant:${params.tenantID}`,
  params: TenantID,
  response: z.object({ message: Message }),

  async handle({ tenantID, log }, { pool, runs, messaging: { backplane } }) {
    // No user can use the tenant from here on; a worker finishes the deletion if this process does not.
    await shutTenant(pool, tenantID);
    const deletion = deleteEverything(pool, runs, tenantID)
      .then(() => backplane.messages.publish(TENANT_DELETED_CHANNEL, {}))
      .catch((error) => log.warn({ err: error }, 'deletion is left to the workers'));
    await Promise.race([deletion, sleep(ANSWER_AFTER_MS, undefined, { ref: false })]);
    return { message: 'Tenant deleted' };
  },
});
