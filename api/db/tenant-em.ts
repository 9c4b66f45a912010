import type { EntityManager } from '@mikro-orm/postgresql';

/** An entity manager of its own for one request or job, narrowed to the tenant: it finds and changes no other tenant's rows. */
export function tenantEntityManager(em: EntityManager, tenantID: string): EntityManager {
  const fork = em.fork();
  fork.setFilterParams('tenant', { tenantID });
  return fork;
}
