import type { EntityManager } from '@mikro-orm/postgresql';

/**
 * An entity manager of its own for one request or job, narrowed to the tenant: it finds and changes no other tenant's rows. Changes are
 * noted as those of the actor, a user.
 */
export function tenantEntityManager(em: EntityManager, tenantID: string, actorID?: string): EntityManager {
  const fork = em.fork();
  fork.setFilterParams('tenant', { tenantID, ...(actorID !== undefined && { actorID }) });
  return fork;
}
