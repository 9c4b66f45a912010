import { WorkflowInstance } from '#shared/db/entities/workflow-instance.ts';
import { AppError } from '#shared/errors.ts';
import type { Permission } from '#shared/policy/permissions.ts';
import { splitPermission } from '#shared/policy/permissions.ts';
import type { RunStatus } from '#shared/workflow/status.ts';
import type { ApiContext } from '../context.ts';

/** The right by which a socket is in a room, re-checked while it stays: membership, and one of the permissions if any are named. */
export interface Grant {
  tenantID: string;
  access?: { permissions: readonly Permission[]; object: string };
}

export interface JoinableRun {
  grant: Grant;
  /** Of the tenant's rules by which the grant was checked. */
  version: number;
  status: RunStatus;
  seq: number;
}

type Asking = Pick<ApiContext, 'authenticator' | 'policy' | 'orm'>;

/** A run that the user may watch. A missing run is refused like another tenant's, so that the client learns nothing. */
export async function findJoinable(context: Asking, userID: string, instanceID: string): Promise<JoinableRun> {
  const run = await context.orm.em.fork().findOne(
    WorkflowInstance,
    { id: instanceID },
    // Looks across tenants, because the client names no tenant: the run does.
    { filters: { tenant: false }, fields: ['tenantID', 'workflowID', 'status', 'seq', 'caller'] },
  );
  if (!run) throw joinDenied();
  const object = `workflow:${run.workflowID ?? '*'}`;
  const isOwn = run.caller.type === 'user' && run.caller.id === userID;
  const permissions: Permission[] = isOwn ? ['workflow.read', 'workflow.execute'] : ['workflow.read'];
  const grant: Grant = { tenantID: run.tenantID, access: { permissions, object } };
  const version = await requireGrant(context, userID, grant);
  return { grant, version, status: run.status, seq: run.seq };
}

/** Answers with the version of the tenant's rules by which the user has the grant. */
export async function requireGrant(
  { authenticator, policy }: Omit<Asking, 'orm'>,
  userID: string,
  { tenantID, access }: Grant,
): Promise<number> {
  const membership = await authenticator.findMembership(userID, tenantID);
  if (!membership) throw joinDenied();
  const version = membership.policyVersion;
  if (!access) return version;
  const asker = { tenantID, version, subjects: [userID] };
  for (const permission of access.permissions) {
    const [, action] = splitPermission(permission);
    if (await policy.can({ ...asker, object: access.object, action })) return version;
  }
  throw joinDenied();
}

export function joinDenied(): AppError {
  return new AppError('PERMISSION_DENIED', 'You may not join this room');
}
