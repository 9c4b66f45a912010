import { readApproverNames } from '#shared/access/policy/approvers.ts';
import { onPool } from '#shared/db/query.ts';
import { holdsAny } from './join.ts';
import type { Member, RoomContext } from './tenant-room.ts';

/**
 * Whether a member may answer a question: they may execute its workflow, and it names them as an approver, or has no approvers; and
 * another must not answer instead of them.
 * Reads their names once.
 */
export function mayAnswer({ pool, access: { policy } }: RoomContext, member: Member) {
  let names: Promise<string[]> | undefined;
  return async ({ workflowID, approvers, notBy }: Asked) => {
    if (notBy === member.userID) return false;
    const object = `workflow:${workflowID ?? '*'}`;
    if (!(await holdsAny(policy, member, { permissions: ['workflow.execute'], object }))) return false;
    if (!approvers) return true;
    names ??= readApproverNames(onPool(pool), member.tenantID, member.userID);
    return (await names).some((name) => approvers.includes(name));
  };
}

interface Asked {
  workflowID: string | null;
  approvers?: readonly string[] | null;
  notBy?: string | null | undefined;
}
