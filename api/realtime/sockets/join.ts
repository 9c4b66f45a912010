import type { Permission } from '#shared/access/policy/permissions.ts';
import { splitPermission } from '#shared/access/policy/permissions.ts';
import type { Policy, PolicyCaller } from '#shared/access/policy/policy.ts';
import { AppError } from '#shared/core/errors.ts';
import { onEntities } from '#shared/db/query.ts';
import { Listener } from '#shared/entities/tables/listener.ts';
import { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import type { RunStatus } from '#shared/workflow/progress/status.ts';
import type { ApiContext } from '../../context/context.ts';

/** One of the permissions on an object. */
export interface AnyOf {
  permissions: readonly Permission[];
  object: string;
}

/** The right by which a socket is in a room, re-checked while it stays: membership, and one of the permissions if any are named. */
export interface Grant {
  tenantID: string;
  access?: AnyOf;
  /** Further rights, all of which are needed too. */
  also?: readonly AnyOf[];
}

export interface JoinableRun {
  grant: Grant;
  /** The version of the tenant's rules by which the grant was checked. */
  version: number;
  status: RunStatus;
  seq: number;
}

type JoinContext = Pick<ApiContext, 'access' | 'orm'>;

/** A run that the user may watch. A missing run is refused like another tenant's, so that the client learns nothing. */
export async function findJoinable(context: JoinContext, userID: string, instanceID: string): Promise<JoinableRun> {
  const run = await context.orm.em.fork().findOne(
    WorkflowInstance,
    { id: instanceID },
    // Looks across tenants, because the client names no tenant: the run does.
    { filters: { tenant: false }, fields: ['tenantID', 'workflowID', 'status', 'seq', 'caller'] },
  );
  if (!run) throw joinDenied();
  const grant = findGrant(run, userID);
  const version = await requireGrant(context, userID, grant);
  return { grant, version, status: run.status, seq: run.seq };
}

/** The right to watch a run: to read its workflow, or for the user who has started the run, to execute the workflow. */
export function findGrant(
  { tenantID, workflowID, caller }: Pick<WorkflowInstance, 'tenantID' | 'workflowID' | 'caller'>,
  userID: string,
): Grant {
  const isOwn = caller.type === 'user' && caller.id === userID;
  const permissions: Permission[] = isOwn ? ['workflow.read', 'workflow.execute'] : ['workflow.read'];
  return { tenantID, access: { permissions, object: `workflow:${workflowID ?? '*'}` } };
}

/** Tenants that are checked at most for a page. */
const MAX_TENANTS = 100;

/** The rights by which a user may watch a page. A page that is sent no events is refused like another tenant's. */
export async function findPageGrants(
  context: JoinContext,
  userID: string,
  appPageID: string,
): Promise<{ grant: Grant; version: number }[]> {
  const { rows } = await onEntities(context.orm.em.fork())<{ tenantID: string }>(PAGE_TENANTS, [
    appPageID,
    userID,
    MAX_TENANTS,
  ]);
  const granted: { grant: Grant; version: number }[] = [];
  let denial = joinDenied();
  for (const { tenantID } of rows) {
    const grant: Grant = { tenantID, access: { permissions: ['appPage.read'], object: `appPage:${appPageID}` } };
    const version = await requireGrant(context, userID, grant).catch((error: unknown) => {
      if (!isDenial(error)) throw error;
      denial = error;
    });
    if (version !== undefined) granted.push({ grant, version });
  }
  if (granted.length === 0) throw denial;
  return granted;
}

/** The right by which a user may watch what a listener receives. A missing listener is refused like another tenant's. */
export async function findListenerGrant(context: JoinContext, userID: string, listenerID: string) {
  const listener = await context.orm.em.fork().findOne(
    Listener,
    { id: listenerID },
    // Looks across tenants, because the client names no tenant: the listener does.
    { filters: { tenant: false }, fields: ['tenantID'] },
  );
  if (!listener) throw joinDenied();
  const access = { permissions: ['listener.read' as const], object: `listener:${listenerID}` };
  const grant: Grant = { tenantID: listener.tenantID, access };
  return { grant, version: await requireGrant(context, userID, grant) };
}

/** Only tenants of which the user is a member, so that listeners of other tenants do not use up the limit. */
const PAGE_TENANTS = `
select distinct a.tenant_id as "tenantID" from listener_action a
join membership m on m.tenant_id = a.tenant_id and m.user_id = $2
where a.action_type = 'push_to_app_page' and a.action_config ->> 'appPageID' = $1 limit $3`;

/**
 * The grant that a member lacks, by the error that refused it. It is recorded in the trail of the tenant, and not sent
 * to the client.
 */
const lacking = new WeakMap<AppError, Grant>();

export function lackOf(refusal: AppError): Grant | undefined {
  return lacking.get(refusal);
}

/** Waits for work of a member of the tenant. If it is refused, the missing grant is noted for the trail of the tenant. */
export async function notingLack<T>(grant: Grant, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (isDenial(error)) lacking.set(error, grant);
    throw error;
  }
}

function isDenial(error: unknown): error is AppError {
  return error instanceof AppError && error.code === 'PERMISSION_DENIED';
}

/** Throws unless the user has the grant. Returns the version of the tenant's rules by which it was checked. */
export async function requireGrant(
  { access: { authenticator, policy } }: Omit<JoinContext, 'orm'>,
  userID: string,
  grant: Grant,
): Promise<number> {
  const { tenantID } = grant;
  const membership = await authenticator.findMembership(userID, tenantID);
  // Not noted: strangers could fill a trail.
  if (!membership) throw joinDenied();
  const version = membership.policyVersion;
  await notingLack(grant, requireAll(policy, { tenantID, version, subjects: [userID] }, grant));
  return version;
}

async function requireAll(policy: Policy, policyCaller: PolicyCaller, { access, also = [] }: Grant): Promise<void> {
  for (const { permissions, object } of access ? [access, ...also] : also)
    if (!(await holdsAny(policy, policyCaller, { permissions, object }))) throw joinDenied();
}

export async function holdsAny(
  policy: Policy,
  policyCaller: PolicyCaller,
  { permissions, object }: AnyOf,
): Promise<boolean> {
  for (const permission of permissions) {
    const [, action] = splitPermission(permission);
    if (await policy.can({ ...policyCaller, object, action })) return true;
  }
  return false;
}

export function joinDenied(): AppError {
  return new AppError('PERMISSION_DENIED', 'You may not join this room');
}
