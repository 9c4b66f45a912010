import { AsyncLocalStorage } from 'node:async_hooks';
import { changeRules, type RuleSpec } from '#shared/access/policy/change.ts';
import { type QuotaName, readHeadroom, requireQuota } from '#shared/access/quotas.ts';
import { onEntities } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';

/** State that assets of one transaction share. */
interface Together {
  /**
   * Rules to write once, at the end: each write updates the tenant's version row, and an update must step over all older
   * row versions.
   */
  rules: RuleSpec[];
  /** The unused rest of each quota that the transaction has locked. */
  headroom: Map<QuotaName, number>;
}

const together = new AsyncLocalStorage<Together>();

/**
 * Runs `work`, which creates many assets of a tenant in one transaction: reads each quota once, and writes their rules
 * in one statement.
 */
export async function createTogether<T>(em: EntityManager, tenantID: string, work: () => Promise<T>): Promise<T> {
  const shared: Together = { rules: [], headroom: new Map() };
  const result = await together.run(shared, work);
  await changeRules(em, tenantID, { add: shared.rules });
  return result;
}

/** Rejects an asset without room in its quota. */
export async function requireHeadroom(em: EntityManager, quota: QuotaName, tenantID: string): Promise<void> {
  const query = onEntities(em);
  const use = { quota, ownerID: tenantID };
  const shared = together.getStore();
  if (!shared) return requireQuota(query, use);
  const headroom = shared.headroom.get(quota) ?? (await readHeadroom(query, use));
  // Throws an error that says how much is used.
  if (headroom < 1) await requireQuota(query, use);
  shared.headroom.set(quota, headroom - 1);
}

export async function addRules(em: EntityManager, tenantID: string, rules: readonly RuleSpec[]): Promise<void> {
  const shared = together.getStore();
  if (shared) shared.rules.push(...rules);
  else await changeRules(em, tenantID, { add: rules });
}
