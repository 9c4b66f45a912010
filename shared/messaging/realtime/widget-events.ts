import { z } from 'zod';
import { Json, JsonObject } from '../../core/json.ts';
import { IterationPath } from '../../workflow/progress/iteration-path.ts';
import { RunStatus } from '../../workflow/progress/status.ts';
import { RunErrorShape, RunWait } from './run-shapes.ts';

/** How a widget is connected to a run. */
export const BridgeMode = z.enum(['execute', 'subscribe', 'replay']);
export type BridgeMode = z.infer<typeof BridgeMode>;

/** Fields of messages about one widget and its run. Several messages may belong to one change, as in `serverEvents`. */
const ofBridge = {
  widgetID: z.string(),
  instanceID: z.uuid(),
  seq: z.int(),
  /** Another message of the same change follows. */
  more: z.literal(true).optional(),
};

/** Keys of `ctx` whose values are too large for a message: clients read the outputs of the run. */
const contextOmitted = z.array(z.string()).optional();

/**
 * Events to the sockets whose widgets are connected to a run. Viewers of an app page who may not read the workflow get an empty context or
 * null, and no events about nodes.
 */
export const widgetEvents = {
  widget_workflow_connected: z.object({
    widgetID: z.string(),
    instanceID: z.uuid(),
    /** Null for the test of an unsaved graph. */
    workflowID: z.uuid().nullable(),
    mode: BridgeMode,
    /** `ctx` after the event `seq`; null if it is too large for a message. */
    initialContext: JsonObject.nullable(),
    contextOmitted,
    /** The current status of the run, in the mode `subscribe`; otherwise null. */
    workflowMeta: z.object({ status: RunStatus }).nullable(),
    /** Only in the mode `replay`. */
    workflowStatus: RunStatus.optional(),
    seq: z.int(),
  }),
  widget_context_update: z.object({
    ...ofBridge,
    update: z.object({
      type: z.literal('NODE_COMPLETE'),
      nodeID: z.string(),
      nodeType: z.string(),
      iteration: z.int(),
      frame: IterationPath,
      outputVariable: z.string().nullable(),
      /** The value that later nodes see; for a node without a variable, its output. */
      value: Json,
      /** Whether `value` was left out, because it is too large for a message. */
      valueOmitted: z.literal(true).optional(),
      status: z.enum(['SUCCESS', 'FAILED']),
      /** `ctx` outside of bodies after this node; null if it is too large to be sent with each. */
      contextSnapshot: JsonObject.nullable(),
      contextOmitted,
    }),
    timestamp: z.iso.datetime(),
  }),
  widget_workflow_status: z.object({
    ...ofBridge,
    status: RunStatus,
    /** At the end of the run; null before, and if it is too large for a message. */
    finalContext: JsonObject.nullable(),
    contextOmitted,
    output: Json,
    outputOmitted: z.boolean().optional(),
    error: RunErrorShape.nullable(),
    waiting: RunWait.optional(),
    timestamp: z.iso.datetime(),
  }),
  /** Sent in addition to the acknowledgement, for clients that request none. */
  widget_workflow_error: z.object({
    /** Null if the client's event names no widget. */
    widgetID: z.string().nullable(),
    error: z.object({
      code: z.enum(['CONNECTION_FAILED', 'INPUT_FAILED', 'REFRESH_FAILED']),
      message: z.string(),
      /** The code of the error, as over HTTP. */
      reason: z.string(),
      /** The same event may succeed later. */
      recoverable: z.boolean(),
    }),
    timestamp: z.iso.datetime(),
  }),
  widget_input_received: z.object({
    widgetID: z.string(),
    instanceID: z.uuid(),
    inputType: z.string(),
    success: z.literal(true),
  }),
  widget_workflow_disconnected: z.object({ widgetID: z.string(), success: z.literal(true) }),
} as const;

export type WidgetEvent = keyof typeof widgetEvents;
export type WidgetPayload<E extends WidgetEvent> = z.input<(typeof widgetEvents)[E]>;

/** Name of the event by which inputs of widgets reach a run. The event's key is the id of the run. */
export const WIDGET_INPUT = 'widget_input';

type Numbered = 'widget_context_update' | 'widget_workflow_status';
/** Messages to a connected widget about a change of its run. */
export type WidgetMessage = { [E in Numbered]: { event: E; payload: WidgetPayload<E> } }[Numbered];
