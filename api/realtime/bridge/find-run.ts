import type { Caller } from '#shared/core/caller.ts';
import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import { widgetOf } from '#shared/messaging/realtime/client-events.ts';
import type { RunStatus } from '#shared/workflow/progress/status.ts';
import type { ApiContext } from '../../context/context.ts';
import { type AnyOf, findGrant, type Grant, joinDenied, requireGrant } from '../sockets/join.ts';

export interface BridgedRun {
  id: string;
  tenantID: string;
  workflowID: string | null;
  versionID: string;
  status: RunStatus;
  seq: number;
  input: JsonObject;
  caller: Caller;
  /** The grant for the room of the run; null where the user may only know its result. */
  runGrant: Grant | null;
  /** The grant for the widget that is connected to the run. */
  grant: Grant;
  /** The version of the tenant's rules by which both grants were checked. */
  version: number;
}

type RunContext = Pick<ApiContext, 'access' | 'orm'>;

const fields = ['tenantID', 'workflowID', 'versionID', 'status', 'seq', 'caller', 'input'] as const;

/**
 * A run that a widget of the user may show: one that the user may read, with a widget that the user may execute, or one that the user has
 * started through an app page that the user may still read. A missing run is refused like another tenant's.
 */
export async function findBridgedRun(
  context: RunContext,
  userID: string,
  { widgetID, instanceID, tenantID }: { widgetID: string; instanceID: string; tenantID?: string | undefined },
): Promise<BridgedRun> {
  const run = await context.orm.em
    .fork()
    .findOne(WorkflowInstance, { id: instanceID }, { filters: { tenant: false }, fields });
  if (!run || (tenantID !== undefined && tenantID !== run.tenantID)) throw joinDenied();
  const { id, workflowID = null, versionID, status, seq, input, caller } = run;
  const known = { id, tenantID: run.tenantID, workflowID, versionID, status, seq, input, caller };
  const runGrant = findGrant(run, userID);
  const grant: Grant = { ...runGrant, also: [widgetAccess(widgetID)] };
  const page = requestedPage(caller, userID);
  try {
    return { ...known, runGrant, grant, version: await requireGrant(context, userID, grant) };
  } catch (error) {
    if (page === null || !(error instanceof AppError && error.code === 'PERMISSION_DENIED')) throw error;
    const access: AnyOf = { permissions: ['appPage.read'], object: `appPage:${page}` };
    const ofPage: Grant = { tenantID: run.tenantID, access };
    return { ...known, runGrant: null, grant: ofPage, version: await requireGrant(context, userID, ofPage) };
  }
}

/** The right that a widget needs, as the routes that answer with its data. */
export function widgetAccess(key: string): AnyOf {
  return { permissions: ['widget.execute'], object: `widget:${widgetOf(key)}` };
}

/** The page through which the user has started the run; null if it was started in another way. */
function requestedPage({ origin, originID, requestedBy }: Caller, userID: string): string | null {
  const isOwn = requestedBy?.type === 'user' && requestedBy.id === userID;
  return origin === 'appPage' && isOwn && originID ? originID : null;
}
