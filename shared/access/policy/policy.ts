import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import { createEvaluator } from './evaluator.ts';
import { createIndexCache, type IndexLimits } from './index-cache.ts';
import { type Permission, type ResourcePermission, readingFor, splitPermission } from './permissions.ts';
import type { VisibilityFilter } from './rule-index.ts';

/** The subjects of a decision: a user by id, or an API key and its creator, who must both be allowed. */
export interface PolicyCaller {
  tenantID: string;
  /** The tenant's `policy_version`, read with the membership: rules older than it are not used. */
  version: number;
  subjects: readonly string[];
}

export interface Policy extends AsyncDisposable {
  /** Whether every subject may do `action` on `object` (`<type>:<id>`, `<type>:*`). */
  can(request: PolicyCaller & { object: string; action: string }): Promise<boolean>;
  /** For each subject, a filter of the objects of a type on which it may do `action`. An object is permitted if it passes all filters. */
  visibilityFilters(request: PolicyCaller & { type: string; action: string }): Promise<VisibilityFilter[]>;
}

/** Objects that a permission covers: all objects of its type without a deny, some of them, or none. */
export type PermissionScope = 'all' | 'some' | 'none';

/** Limit of the ids that a filter lists. With more, lists of assets evaluate the rules in the database instead of sending it the ids. */
const maxIDs = 1_000;

/** Lets casbin decide by cached rules. Each request names the version that the rules must have at least. */
export function createPolicy(pool: Pool, logger: Logger, limits?: IndexLimits): Policy {
  const evaluate = createEvaluator();
  const indexes = createIndexCache(pool, logger, limits);

  return {
    async can(request) {
      const { tenantID, version, subjects, object, action } = request;
      const index = await indexes.current(tenantID, version);
      const isAllowed = (subject: string) => {
        const principals = index.principals([subject]);
        return evaluate(request, index.deciding(principals, object, action), principals);
      };
      return subjects.length > 0 && subjects.every(isAllowed);
    },
    async visibilityFilters({ tenantID, version, subjects, type, action }) {
      const index = await indexes.current(tenantID, version);
      return subjects.map((subject) => {
        const principals = index.principals([subject]);
        const { allow, deny } = index.scopes(principals, { type, action, maxIDs });
        return { tenantID, type, action, principals: [...principals], allow, deny };
      });
    },
    async [Symbol.asyncDispose]() {
      indexes.clear();
    },
  };
}

/** For each subject of the caller, a filter of the objects on which it holds a permission. */
export function filtersOf(policy: Policy, caller: PolicyCaller, permission: string): Promise<VisibilityFilter[]> {
  const [type, action] = splitPermission(permission);
  return policy.visibilityFilters({ ...caller, type, action });
}

/**
 * On how many objects of its type the caller holds a permission. A caller who may read single objects may also list them without a rule on
 * that, unless a rule denies it: lists contain only what may be read. A rule on reading the whole type does not open its list.
 */
export async function scopeOf(
  policy: Policy,
  caller: PolicyCaller,
  permission: Permission | ResourcePermission,
): Promise<PermissionScope> {
  const filters = await filtersOf(policy, caller, permission);
  if (filters.length === 0) return 'none';
  if (filters.every(isWhole)) return 'all';
  if (seesSomething(filters)) return 'some';
  const reading = readingFor(permission);
  if (!reading) return 'none';
  const readable = await filtersOf(policy, caller, reading);
  const listsSomething = (filter: VisibilityFilter, index: number) => {
    if (hasSomething(filter)) return true;
    const read = readable[index];
    return read && !read.allow.everything && hasSomething(read) && hasSomething({ ...read, deny: filter.deny });
  };
  return filters.every(listsSomething) ? 'some' : 'none';
}

/** Whether a subject may act on every object of the type. */
export function isWhole({ allow, deny }: VisibilityFilter): boolean {
  return allow.everything && !deny.everything && deny.ids?.length === 0 && deny.prefixes.length === 0;
}

/** Whether the subjects may see any object at all. */
export function seesSomething(visibilityFilters: readonly VisibilityFilter[]): boolean {
  return visibilityFilters.length > 0 && visibilityFilters.every(hasSomething);
}

function hasSomething({ allow, deny }: VisibilityFilter): boolean {
  if (deny.everything) return false;
  if (allow.everything || allow.prefixes.length > 0 || allow.ids === null) return true;
  const denied = new Set(deny.ids);
  return allow.ids.some((id) => !denied.has(id) && !deny.prefixes.some((prefix) => id.startsWith(prefix)));
}
