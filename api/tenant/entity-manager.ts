import type { EntityManager } from '@mikro-orm/postgresql';

/**
 * A separate entity manager for one request or job, narrowed to the tenant: it finds and changes no rows of other
 * tenants. Triggers of the database record the actor, a user, as the author of its changes.
 */
export function tenantEntityManager(em: EntityManager, tenantID: string, actorID?: string): EntityManager {
  const fork = em.fork();
  fork.setFilterParams('tenant', { tenantID, ...(actorID !== undefined && { actorID }) });
  return fork;
}
