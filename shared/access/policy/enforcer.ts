import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import { createJudge } from './evaluator.ts';
import { createKeptIndexes, type IndexLimits } from './index-cache.ts';
import type { Sight } from './rule-index.ts';

/** The subjects of a question: a user by id, or an API key and its creator, who must both be allowed. */
export interface Asker {
  tenantID: string;
  /** The tenant's `policy_version`, read with the membership: rules older than it are not used. */
  version: number;
  subjects: readonly string[];
}

export interface Policy extends AsyncDisposable {
  /** Whether every subject may do `action` on `object` (`<type>:<id>`, `<type>:*`). */
  can(question: Asker & { object: string; action: string }): Promise<boolean>;
  /** For each subject, the objects of a type that it may do `action` on. Permitted are the objects in all of these. */
  sights(question: Asker & { type: string; action: string }): Promise<Sight[]>;
}

/** Of a permission: all objects of its type without a deny, some of them, or none. */
export type Extent = 'all' | 'some' | 'none';

/** With more ids a list reads the rules in the database instead of sending the ids there. */
const maxIDs = 1_000;

/** Lets casbin decide by cached rules, which are checked against the version in each question. */
export function createPolicy(pool: Pool, logger: Logger, limits?: IndexLimits): Policy {
  const judge = createJudge();
  const indexes = createKeptIndexes(pool, logger, limits);

  return {
    async can(question) {
      const { tenantID, version, subjects, object, action } = question;
      const index = await indexes.current(tenantID, version);
      const isAllowed = (subject: string) => {
        const holders = index.holders([subject]);
        return judge(question, index.deciding(holders, object, action), holders);
      };
      return subjects.length > 0 && subjects.every(isAllowed);
    },
    async sights({ tenantID, version, subjects, type, action }) {
      const index = await indexes.current(tenantID, version);
      return subjects.map((subject) => {
        const holders = index.holders([subject]);
        const { allow, deny } = index.reach(holders, { type, action, maxIDs });
        return { tenantID, type, action, holders: [...holders], allow, deny };
      });
    },
    async [Symbol.asyncDispose]() {
      indexes.clear();
    },
  };
}

/** Whether the subjects may see any object at all. */
export function seesSomething(sights: readonly Sight[]): boolean {
  return sights.length > 0 && sights.every(hasSomething);
}

function hasSomething({ allow, deny }: Sight): boolean {
  if (deny.everything) return false;
  if (allow.everything || allow.prefixes.length > 0 || allow.ids === null) return true;
  const denied = new Set(deny.ids);
  return allow.ids.some((id) => !denied.has(id) && !deny.prefixes.some((prefix) => id.startsWith(prefix)));
}
