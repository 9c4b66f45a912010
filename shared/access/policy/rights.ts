import { type Caller, subjectsOf } from '../../core/caller.ts';
import type { Pool } from '../../db/pool.ts';
import { readActingVersion } from '../account-status.ts';
import { type Permission, splitPermission } from './permissions.ts';
import type { Policy } from './policy.ts';

/** Re-checks the caller's permissions during a run: rules change, and members leave. */
export interface Rights {
  may(run: { tenantID: string; caller: Caller }, access: { permission: Permission; object: string }): Promise<boolean>;
}

export function createRights({ pool, policy }: { pool: Pool; policy: Policy }): Rights {
  return {
    async may({ tenantID, caller }, { permission, object }) {
      if (caller.type === 'system') return true;
      const actors = [caller, ...(caller.boundBy ?? [])];
      const versions = await Promise.all(actors.map((actor) => readActingVersion(pool, tenantID, actor)));
      const [version] = versions;
      if (typeof version !== 'number' || versions.includes(null)) return false;
      const [, action] = splitPermission(permission);
      return policy.can({ tenantID, version, subjects: subjectsOf(caller), object, action });
    },
  };
}
