import { AppError } from '#shared/core/errors.ts';
import type { Query } from '#shared/db/query.ts';
import type { TenantUser } from '#shared/entities/tables/tenant-user.ts';
import { hasOtherAdmin } from '../../people/members.ts';

/**
 * Rejects a change that leaves a tenant without an admin. Callers lock the tenant's rules, so that of two admins who
 * leave at once one stays.
 */
export async function requireOtherAdmin(
  query: Query,
  tenantID: string,
  { id: userID, role }: TenantUser,
): Promise<void> {
  if (role !== 'ADMIN' || (await hasOtherAdmin(query, { tenantID, userID }))) return;
  throw new AppError('CONFLICT', 'The last admin of a tenant can neither be removed nor become a member only');
}
