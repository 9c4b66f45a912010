import { AppError } from '#shared/core/errors.ts';
import type { WidgetConnect, WidgetInput, WidgetRefresh } from '#shared/messaging/realtime/client-events.ts';
import { type BridgeMode, WIDGET_INPUT, type WidgetPayload } from '#shared/messaging/realtime/widget-events.ts';
import { isTerminal } from '#shared/workflow/progress/status.ts';
import type { RunWatch } from '../../streams/run-watch.ts';
import { follow } from '../feeds/follow-run.ts';
import { noteOnSocket, socketEntry } from '../sockets/audit-sockets.ts';
import { enter, leave, requireFreeRoom, type Work } from '../sockets/enter.ts';
import { requireGrant } from '../sockets/join.ts';
import { rooms } from '../sockets/rooms.ts';
import type { Bridge, ClientSocket } from '../sockets/socket.ts';
import { type BridgedRun, findBridgedRun } from './find-run.ts';
import type { ReadGraphParts } from './graph-nodes.ts';
import { RunContext, readRunContext, toKeep } from './run-context.ts';
import { callerOf, claimOf, type Starting, startRun } from './start-run.ts';
import { createTelling } from './tell-widget.ts';

export interface BridgeContext extends Starting {
  watch: RunWatch;
  parts: ReadGraphParts;
}

/** Connects a widget to a run, in place of the one that it was connected to. */
export async function connectWidget(socket: ClientSocket, context: BridgeContext, sent: WidgetConnect) {
  const { userID } = socket.data;
  const { widgetID, mode, tenantID, appPageID, workflowAlias, lastSeq } = sent;
  if (mode !== 'replay') requireSocketRoom(socket, widgetID);
  const page = appPageID !== undefined && workflowAlias !== undefined ? { appPageID, workflowAlias } : null;
  const instanceID =
    mode === 'execute'
      ? await startRun(context, socket, {
          ...{ widgetID, tenantID, inputs: sent.inputs ?? {} },
          target: page ?? { workflowID: String(sent.workflowID) },
          claim: claimOf('widget_workflow_connect', userID, {
            key: sent.idempotencyKey,
            request: [widgetID, sent.workflowID, page, sent.inputs],
          }),
        })
      : String(sent.instanceID);
  const run = await findBridgedRun(context, userID, { widgetID, instanceID, tenantID });
  return build(socket, context, { run, mode, bridge: { widgetID, instanceID, tenantID: run.tenantID, page }, lastSeq });
}

/** Executes again what the widget shows, and connects the widget to the new run. The earlier run goes on. */
export async function refreshWidget(socket: ClientSocket, context: BridgeContext, sent: WidgetRefresh) {
  const { userID } = socket.data;
  const { widgetID, inputs, idempotencyKey: key } = sent;
  const { instanceID, page } = requireBridge(socket, widgetID);
  const before = await findBridgedRun(context, userID, { widgetID, instanceID, tenantID: sent.tenantID });
  const { tenantID, workflowID } = before;
  if (!page && (workflowID === null || !before.runGrant))
    throw new AppError('CONFLICT', 'It is not known what to execute: connect again with what the app page binds');
  const started = await startRun(context, socket, {
    ...{ widgetID, tenantID, inputs: inputs ?? (page ? {} : before.input) },
    target: page ?? { workflowID: String(workflowID) },
    claim: claimOf('widget_refresh', userID, { key, request: [widgetID, inputs] }),
  });
  const run = await findBridgedRun(context, userID, { widgetID, instanceID: started });
  const bridge: Bridge = { widgetID, instanceID: started, tenantID, page };
  return build(socket, context, { run, mode: 'execute', bridge, lastSeq: undefined });
}

/** How long an input is kept for nodes that begin to wait only after it has come. */
const REMEMBER_SECONDS = 3_600;

/** Sends an input to the nodes of the run that wait for it, or will within an hour. */
export async function sendInput(socket: ClientSocket, context: BridgeContext, sent: WidgetInput) {
  const { userID } = socket.data;
  const { widgetID, inputType, data, idempotencyKey: key } = sent;
  const instanceID = sent.instanceID ?? requireBridge(socket, widgetID).instanceID;
  const run = await findBridgedRun(context, userID, { widgetID, instanceID });
  const caller = await senderOf(context, userID, run);
  const { tenantID, status } = run;
  const noted = { action: 'input', grant: run.grant, room: rooms.run(instanceID) } as const;
  const claimed = claimOf('widget_send_input', userID, { key, request: [widgetID, instanceID, inputType, data] });
  const onReplay = () => noteOnSocket(context.requests.audit, socket, { ...noted, more: { widgetID, isReplay: true } });
  const claim = claimed && { ...claimed, onReplay };
  if (isTerminal(status) && !claim) throw new AppError('CONFLICT', 'The run of this widget has ended');
  const timestamp = new Date().toISOString();
  const { eventID, reached } = await context.runs.events.send(
    {
      ...{ tenantID, name: WIDGET_INPUT, key: instanceID, rememberSeconds: REMEMBER_SECONDS, caller },
      data: { widgetID, inputType, data, timestamp },
      entry: socketEntry(socket, { ...noted, more: { widgetID, inputType } }),
    },
    claim,
  );
  return {
    answer: { widgetID, instanceID, inputType, eventID, reached },
    begin: () => void socket.emit('widget_input_received', { widgetID, instanceID, inputType, success: true }),
  };
}

export async function disconnectWidget(
  socket: ClientSocket,
  { requests: { audit } }: Pick<BridgeContext, 'requests'>,
  { widgetID }: { widgetID: string },
) {
  const room = rooms.widget(widgetID);
  const { grant } = socket.data.rooms.get(room) ?? {};
  leave(socket, room);
  if (grant) noteOnSocket(audit, socket, { action: 'leave', grant, room });
  return {
    answer: { widgetID },
    begin: () => void socket.emit('widget_workflow_disconnected', { widgetID, success: true }),
  };
}

/**
 * The sender of an input: the user, who must be allowed to execute the workflow, or the creator of the page that has
 * started the run.
 */
async function senderOf(context: Starting, userID: string, { tenantID, workflowID, runGrant, caller }: BridgedRun) {
  if (!runGrant) return caller;
  const access = { permissions: ['workflow.execute' as const], object: `workflow:${workflowID ?? '*'}` };
  await requireGrant(context, userID, { tenantID, access });
  return callerOf(userID);
}

const MAX_BRIDGES = 50;

function requireSocketRoom(socket: ClientSocket, widgetID: string): void {
  const name = rooms.widget(widgetID);
  requireFreeRoom(socket, name);
  if (socket.data.rooms.has(name) || bridgesOf(socket).length < MAX_BRIDGES) return;
  throw new AppError('QUOTA_EXCEEDED', `A socket may connect ${MAX_BRIDGES} widgets`, { reason: 'socket widgets' });
}

function bridgesOf({ data }: ClientSocket): Bridge[] {
  return [...data.rooms.values()].flatMap(({ bridge }) => bridge ?? []);
}

function requireBridge(socket: ClientSocket, widgetID: string): Bridge {
  const bridge = socket.data.rooms.get(rooms.widget(widgetID))?.bridge;
  if (bridge) return bridge;
  throw new AppError('CONFLICT', 'This widget is not connected to a run: send widget_workflow_connect first');
}

interface Built {
  run: BridgedRun;
  mode: BridgeMode;
  bridge: Bridge;
  lastSeq: number | undefined;
}

async function build(
  socket: ClientSocket,
  context: BridgeContext,
  { run, mode, bridge, lastSeq }: Built,
): Promise<Awaited<ReturnType<Work>>> {
  const { widgetID, instanceID } = bridge;
  const { tenantID, versionID, workflowID, status, seq, input, grant, runGrant, version } = run;
  // At most the last event of the run: a client that names a later one would miss all before it, and with them the end
  // of the run.
  const after = mode === 'replay' ? seq : Math.min(lastSeq ?? (mode === 'execute' ? 0 : seq), seq);
  const isWhole = runGrant !== null;
  const parts = await context.parts({ tenantID, versionID });
  const read = isWhole
    ? await readRunContext(context.pool, { instanceID, input, parts, seq: after })
    : new RunContext(parts, {});
  const { values: initialContext, contextOmitted } = read.shown;
  const connected: WidgetPayload<'widget_workflow_connected'> = {
    ...{ widgetID, instanceID, workflowID, mode, initialContext, seq: after },
    ...(contextOmitted && { contextOmitted }),
    workflowMeta: mode === 'subscribe' ? { status } : null,
    ...(mode === 'replay' && { workflowStatus: status }),
  };
  // Checked again: other widgets may have been connected meanwhile.
  if (mode !== 'replay') requireSocketRoom(socket, widgetID);
  return {
    answer: { widgetID, instanceID, status, seq },
    begin() {
      socket.emit('widget_workflow_connected', connected);
      if (mode === 'replay' || !socket.connected) return;
      leave(socket, rooms.widget(widgetID));
      const position = { instanceID, lastSeq: after };
      if (runGrant && !socket.data.rooms.has(rooms.run(instanceID)))
        enter(socket, context, {
          ...{ room: rooms.run(instanceID), grant: runGrant, version, isOfBridge: true },
          begin: () => follow(socket, context.watch, position),
        });
      const cached = bridgesOf(socket).reduce((sum, { cached }) => sum + (cached?.length ?? 0), 0);
      const small = isWhole ? toKeep(parts, read.shown, cached) : null;
      const tell = createTelling(context.pool, { widgetID, instanceID, input, parts, context: small, isWhole });
      enter(socket, context, {
        ...{ room: rooms.widget(widgetID), grant, version, bridge: { ...bridge, cached: small } },
        begin: () => follow(socket, context.watch, { ...position, tell }),
      });
    },
  };
}
