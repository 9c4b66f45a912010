import { isJsonObject, type JsonObject } from '#shared/core/json.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { ServerMessage, ServerPayload } from '#shared/messaging/realtime/events.ts';
import type { WidgetMessage } from '#shared/messaging/realtime/widget-events.ts';
import { isTerminal } from '#shared/workflow/progress/status.ts';
import type { GraphParts } from './graph-nodes.ts';
import { hasLeft, type RunContext, readRunContext, type ShownContext } from './run-context.ts';

interface BridgedWidget {
  widgetID: string;
  instanceID: string;
  input: JsonObject;
  parts: GraphParts;
  /** Null if it is too large to be sent with every node. */
  context: RunContext | null;
  /** Whether the user may know what the nodes of the run do. */
  isWhole: boolean;
}

/** Turns changes of a run into messages to its widget. */
export function createTelling(pool: Pool, { widgetID, instanceID, input, parts, context, isWhole }: BridgedWidget) {
  return async (change: readonly ServerMessage[]): Promise<WidgetMessage[]> => {
    const messages: WidgetMessage[] = [];
    for (const message of change) {
      if (message.event === 'workflow_status_update') messages.push(await tellStatus(message.payload));
      if (!isWhole) continue;
      context?.take(message);
      if (message.event === 'workflow_node_update' && hasLeft(message.payload))
        messages.push(tellNode(message.payload));
    }
    return messages;
  };

  function tellNode(payload: ServerPayload<'workflow_node_update'>): WidgetMessage {
    const { seq, nodeID, iteration, frame, status, output, outputOmitted, at: timestamp } = payload;
    const part = parts.get(nodeID);
    const name = part?.outputVariable ?? null;
    const { values, contextOmitted }: ShownContext = context?.shown ?? { values: null };
    const value =
      name !== null && isJsonObject(output) && Object.hasOwn(output, name) ? (output[name] ?? null) : output;
    return {
      event: 'widget_context_update',
      payload: {
        widgetID,
        instanceID,
        seq,
        update: {
          type: 'NODE_COMPLETE',
          nodeID,
          nodeType: part?.kind ?? '',
          iteration,
          frame,
          outputVariable: name,
          value,
          ...(outputOmitted && { valueOmitted: true }),
          status: status === 'FAILED' ? 'FAILED' : 'SUCCESS',
          contextSnapshot: values,
          ...(contextOmitted && { contextOmitted }),
        },
        timestamp,
      },
    };
  }

  async function tellStatus(payload: ServerPayload<'workflow_status_update'>): Promise<WidgetMessage> {
    const { seq, status, output, outputOmitted, error, waiting, at: timestamp } = payload;
    const { values, contextOmitted } = await finalContext(payload);
    return {
      event: 'widget_workflow_status',
      payload: {
        ...{ widgetID, instanceID, seq, status, finalContext: values, output, error, timestamp },
        ...(contextOmitted && { contextOmitted }),
        ...(outputOmitted && { outputOmitted }),
        ...(waiting && { waiting }),
      },
    };
  }

  async function finalContext({ seq, status }: ServerPayload<'workflow_status_update'>): Promise<ShownContext> {
    if (!isWhole || !isTerminal(status)) return { values: null };
    const cached = context?.shown;
    if (cached?.values) return cached;
    // If the context cannot be read, the end is sent without it: the client reads it over HTTP.
    const read = await readRunContext(pool, { instanceID, input, parts, seq }).catch(() => undefined);
    return read?.shown ?? { values: null };
  }
}
