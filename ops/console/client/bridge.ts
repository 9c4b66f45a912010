import type { AnyServerPayload } from '#shared/messaging/realtime/events.ts';
import { newID } from './new-id.ts';
import type { getSocket } from './socket.ts';
import type { RunStatus } from './types.ts';

/** A run that a widget of a page shows, by the bridge between widgets and runs. */
export interface BridgedRun {
  tenantID: string;
  /** The key of the widget; one for each run that is shown at once. */
  widgetID: string;
  /** Absent for a run that is known. */
  start?: { appPageID: string; workflowAlias: string } | { workflowID: string };
  instanceID?: string | undefined;
  inputs: Readonly<Record<string, unknown>>;
}

interface Server {
  socket: ReturnType<typeof getSocket>;
  /** Reads an output that was too large for a message. */
  readOutput(instanceID: string): Promise<unknown>;
}

export interface BridgeState {
  instanceID: string;
  status: RunStatus;
  output: unknown;
  error: { code: string; message: string } | null;
  steps: readonly { nodeID: string; status: string }[];
  /** The question that the run waits for. */
  questionID: string | null;
}

const NOT_STARTED: BridgeState = {
  instanceID: '',
  status: 'PENDING',
  output: null,
  error: null,
  steps: [],
  questionID: null,
};
/** After this time a start or a subscription that has had no answer is sent again. */
const AGAIN_MS = 4_000;
const MAX_STEPS = 500;
const ENDS = new Set(['COMPLETED', 'FAILED', 'CANCELLED']);

/**
 * Starts a run or attaches to one, and tells what becomes of it. After a lost connection it attaches again with the last number that it
 * has, and the server sends what was missed. A start has a key: sent twice, it starts one run.
 */
export function watchBridge(
  given: BridgedRun,
  onState: (state: BridgeState) => void,
  { socket, readOutput }: Server,
): () => void {
  const { tenantID, widgetID, start, inputs } = given;
  const idempotencyKey = newID();
  let state: BridgeState = { ...NOT_STARTED, instanceID: given.instanceID ?? '' };
  let lastSeq = 0;
  let isLeft = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const tell = (change: Partial<BridgeState>) => {
    if (isLeft) return;
    state = { ...state, ...change };
    onState(state);
  };
  const connect = () => {
    clearTimeout(timer);
    if (isLeft || ENDS.has(state.status) || !socket.connected) return;
    timer = setTimeout(connect, AGAIN_MS);
    const target = state.instanceID
      ? ({ mode: 'subscribe', instanceID: state.instanceID, lastSeq } as const)
      : ({ mode: 'execute', ...start, inputParams: inputs, idempotencyKey } as const);
    socket.emit('widget_workflow_connect', { widgetID, tenantID, ...target }, ({ success, instanceID, error }) => {
      clearTimeout(timer);
      if (success && instanceID) tell({ instanceID });
      else if (error && PASSING.has(error.code)) timer = setTimeout(connect, AGAIN_MS);
      else if (error) {
        tell({ error, ...(state.instanceID && { status: 'FAILED' }) });
        // A refusal is final, also when the connection comes back.
        isLeft = true;
      }
    });
  };
  // Messages of an earlier run of the same widget may be on their way still. The server answers a start before it sends the first message.
  const isOfThisRun = (sent: { widgetID: string; instanceID: string; seq: number }) =>
    // Missed messages are sent again from the last number on.
    sent.widgetID === widgetID && sent.instanceID === state.instanceID && sent.seq >= lastSeq;
  const onNode = (sent: AnyServerPayload<'widget_context_update'>) => {
    if (!isOfThisRun(sent)) return;
    const { seq, update } = sent;
    lastSeq = seq;
    const step = { nodeID: update.nodeID, status: update.status };
    tell({ steps: [...state.steps.filter(({ nodeID }) => nodeID !== step.nodeID), step].slice(-MAX_STEPS) });
  };
  const onStatus = (sent: AnyServerPayload<'widget_workflow_status'>) => {
    if (!isOfThisRun(sent)) return;
    lastSeq = sent.seq;
    const { instanceID, status, error } = sent;
    tell({ instanceID, status, error, output: sent.output, questionID: sent.waiting?.collectionRequestID ?? null });
    if (!ENDS.has(status)) return;
    socket.emit('widget_workflow_disconnect', { widgetID });
    if (sent.outputOmitted)
      void readOutput(instanceID).then(
        (output) => tell({ output }),
        () => undefined,
      );
  };
  socket.on('widget_context_update', onNode);
  socket.on('widget_workflow_status', onStatus);
  socket.on('connect', connect);
  connect();
  onState(state);
  return () => {
    isLeft = true;
    clearTimeout(timer);
    socket.off('widget_context_update', onNode);
    socket.off('widget_workflow_status', onStatus);
    socket.off('connect', connect);
    if (socket.connected) socket.emit('widget_workflow_disconnect', { widgetID });
  };
}

/** The server has too much to do, or does not reach its database. */
const PASSING: ReadonlySet<string> = new Set(['UNAVAILABLE', 'RATE_LIMITED', 'INTERNAL_ERROR']);
