import { LRUCache } from 'lru-cache';
import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import { RuleIndex } from './rule-index.ts';
import { readChanges, readRules, type StoredChange } from './rules.ts';

export interface IndexCache {
  /** The tenant's index at `version` or later. */
  current(tenantID: string, version: number): Promise<RuleIndex>;
  clear(): void;
}

export interface IndexLimits {
  tenants: number;
  rules: number;
  /** With more changes, all rules are loaded again. */
  changes: number;
}

const defaults: IndexLimits = { tenants: 10_000, rules: 2_000_000, changes: 1_000 };

/** Caches the indexes of the tenants used last. An index is updated when a request names a newer version. */
export function createIndexCache(pool: Pool, logger: Logger, limits: IndexLimits = defaults): IndexCache {
  const indexes = new LRUCache<string, RuleIndex>({
    max: limits.tenants,
    maxSize: limits.rules,
    // A tenant with more rules than the whole cache may have is cached alone. A tenant without rules has size 1, since 0 is not allowed.
    sizeCalculation: ({ size }) => Math.min(Math.max(size, 1), limits.rules),
  });
  const underWay = new Map<string, Promise<RuleIndex>>();

  async function current(tenantID: string, version: number): Promise<RuleIndex> {
    const cached = indexes.get(tenantID);
    if (cached && cached.version >= version) return cached;
    const shared = underWay.get(tenantID);
    if (!shared) return begin(tenantID, version);
    // The load under way may have begun before the change to `version`, or may fail. The next one begins later.
    const index = await shared.catch(() => undefined);
    if (index && index.version >= version) return index;
    return underWay.get(tenantID) ?? begin(tenantID, version);
  }

  function begin(tenantID: string, version: number): Promise<RuleIndex> {
    const begun = renew(tenantID, version).finally(() => underWay.delete(tenantID));
    underWay.set(tenantID, begun);
    return begun;
  }

  async function renew(tenantID: string, version: number): Promise<RuleIndex> {
    const cached = indexes.get(tenantID);
    return (cached && (await catchUp(tenantID, cached, version))) ?? load(tenantID);
  }

  /** Applies the changes since the index's version. Undefined if they do not lead to `version`: some were deleted, or there are too many. */
  async function catchUp(tenantID: string, index: RuleIndex, version: number): Promise<RuleIndex | undefined> {
    const changes = await readChanges(pool, tenantID, { after: index.version, maxChanges: limits.changes + 1 });
    if (changes.length > limits.changes || !leadTo(version, index.version, changes)) return undefined;
    index.apply(changes);
    // Deletes the entry first, because the cache does not calculate the size again if the same value is set again.
    indexes.delete(tenantID);
    indexes.set(tenantID, index);
    return index;
  }

  async function load(tenantID: string): Promise<RuleIndex> {
    const index = new RuleIndex(tenantID, await readRules(pool, tenantID));
    logger.debug({ tenantID, version: index.version, rules: index.size }, 'policy rules loaded');
    indexes.set(tenantID, index);
    return index;
  }

  return {
    current,
    clear: () => indexes.clear(),
  };
}

/** Whether the changes have no gap and reach the version. */
function leadTo(version: number, from: number, changes: readonly StoredChange[]): boolean {
  return changes.length >= version - from && changes.every((change, n) => change.version === from + n + 1);
}
