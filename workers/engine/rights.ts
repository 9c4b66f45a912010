import { subjectsOf } from '#shared/caller.ts';
import type { Pool } from '#shared/db/pool.ts';
import { readActingVersion } from '#shared/db/standing.ts';
import type { Policy } from '#shared/policy/enforcer.ts';
import type { Rights } from '../nodes/executor.ts';

export function createRights({ pool, policy }: { pool: Pool; policy: Policy }): Rights {
  return {
    async mayExecute({ tenantID, caller }, object) {
      if (caller.type === 'system') return true;
      const version = await readActingVersion(pool, tenantID, caller);
      if (version === null) return false;
      return policy.can({ tenantID, version, subjects: subjectsOf(caller), object, action: 'execute' });
    },
  };
}
