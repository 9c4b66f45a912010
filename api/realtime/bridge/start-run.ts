import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '#shared/core/caller.ts';
import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { IdempotencyClaim } from '#shared/db/idempotency.ts';
import { AppPage } from '#shared/entities/tables/app-page.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import type { ApiContext } from '../../context/context.ts';
import { createAuthorizer } from '../../http/access/authorize.ts';
import { newPageRun } from '../../resources/app-pages/new-run.ts';
import { chooseVersion } from '../../runs/choose-version.ts';
import { directRun } from '../../runs/direct-run.ts';
import { tenantEntityManager } from '../../tenant/entity-manager.ts';
import { socketEntry } from '../sockets/audit-sockets.ts';
import { type AnyOf, type Grant, joinDenied, notingLack, requireGrant } from '../sockets/join.ts';
import { rooms } from '../sockets/rooms.ts';
import type { ClientSocket } from '../sockets/socket.ts';
import { widgetAccess } from './find-run.ts';

export type Starting = Pick<ApiContext, 'access' | 'orm' | 'pool' | 'runs' | 'logger' | 'requests'>;

export interface ToStart {
  widgetID: string;
  tenantID?: string | undefined;
  inputs: JsonObject;
  /** The target to execute: a workflow, or a workflow that a page binds. */
  target: { workflowID: string } | { appPageID: string; workflowAlias: string };
  claim?: IdempotencyClaim | undefined;
}

/** Starts a run for a widget as `POST …/execute` would for the user. Answers with its id. */
export async function startRun(context: Starting, socket: ClientSocket, starting: ToStart): Promise<string> {
  const { target, widgetID } = starting;
  const { userID } = socket.data;
  const { run, grant } =
    'workflowID' in target
      ? await newRun(context, userID, { ...starting, ...target })
      : await newRunOfPage(context, userID, { ...starting, ...target });
  const entry = (more: JsonObject) =>
    socketEntry(socket, { action: 'execute', grant, room: rooms.widget(widgetID), more });
  const { instanceID } = await context.runs.accept({ ...run, entry: entry({ instanceID: run.id }) }, starting.claim);
  if (instanceID !== run.id) context.requests.audit.note(entry({ instanceID, isReplay: true }));
  return instanceID;
}

async function newRun(context: Starting, userID: string, starting: ToStart & { workflowID: string }) {
  const { widgetID, workflowID, inputs: args } = starting;
  const em = context.orm.em.fork();
  const fields = ['tenantID', 'versionID', 'isDisabled'] as const;
  // Looks across tenants, because older clients name no tenant: the workflow does.
  const workflow = await em.findOne(Workflow, { id: workflowID }, { filters: { tenant: false }, fields });
  const tenantID = requireTenant(workflow, starting.tenantID);
  const access: AnyOf = { permissions: ['workflow.execute'], object: `workflow:${workflowID}` };
  const grant: Grant = { tenantID, access, also: [widgetAccess(widgetID)] };
  const version = await requireGrant(context, userID, grant);
  const { require } = createAuthorizer(context.access.policy, { tenantID, version, subjects: [userID] });
  const versionRequest = {
    params: { workflowID },
    tenantID,
    workflow: workflow ? { versionID: workflow.versionID ?? null, isDisabled: workflow.isDisabled } : undefined,
    em: tenantEntityManager(context.orm.em, tenantID, userID),
    require,
  };
  const chosen = await notingLack(grant, chooseVersion(versionRequest, context, undefined));
  const caller = callerOf(userID);
  const { versionID } = chosen;
  const run = directRun(chosen.version, { tenantID, workflowID, versionID, caller, args, field: 'inputParams' });
  return { run, grant };
}

async function newRunOfPage(
  context: Starting,
  userID: string,
  starting: ToStart & { appPageID: string; workflowAlias: string },
) {
  const { appPageID, workflowAlias: alias, inputs: given } = starting;
  const em = context.orm.em.fork();
  const page = await em.findOne(AppPage, { id: appPageID }, { filters: { tenant: false }, fields: ['tenantID'] });
  const tenantID = requireTenant(page, starting.tenantID);
  const grant: Grant = { tenantID, access: { permissions: ['appPage.read'], object: `appPage:${appPageID}` } };
  await requireGrant(context, userID, grant);
  const viewing = { em: tenantEntityManager(context.orm.em, tenantID, userID), tenantID, caller: callerOf(userID) };
  return { run: await notingLack(grant, newPageRun(viewing, context, { appPageID, alias, given })), grant };
}

/** A target that does not exist is refused like another tenant's, so that the client learns nothing. */
function requireTenant(row: { tenantID: string } | null, named: string | undefined): string {
  if (!row || (named !== undefined && named !== row.tenantID)) throw joinDenied();
  return row.tenantID;
}

export function callerOf(userID: string): Caller {
  return { type: 'user', id: userID, userID, origin: 'direct' };
}

const MAX_WAIT_MS = 10_000;
const PAUSE_MS = 250;

/** The claim of an event with a key: the same key with another request is a CONFLICT. */
export function claimOf(event: string, userID: string, { key, request }: { key: string | undefined; request: object }) {
  if (key === undefined) return undefined;
  const end = performance.now() + MAX_WAIT_MS;
  return {
    principal: userID,
    route: `socket ${event}`,
    key,
    requestHash: hash('sha256', JSON.stringify(request), 'base64'),
    onReplay: () => undefined,
    onStored: () => undefined,
    async pause() {
      if (performance.now() > end)
        throw new AppError('UNAVAILABLE', 'The earlier event with this key is still at work');
      await sleep(PAUSE_MS);
    },
  } satisfies IdempotencyClaim;
}
