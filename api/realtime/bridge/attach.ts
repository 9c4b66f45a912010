import type { z } from 'zod';
import type { AppError } from '#shared/core/errors.ts';
import { isJsonObject } from '#shared/core/json.ts';
import { invalid } from '#shared/core/schema/issues.ts';
import { requireValue } from '#shared/core/schema/parse.ts';
import { findUnstorable } from '#shared/core/unstorable.ts';
import { type ClientEvent, clientEvents } from '#shared/messaging/realtime/client-events.ts';
import type { WidgetPayload } from '#shared/messaging/realtime/widget-events.ts';
import type { NamedWork, Work } from '../sockets/enter.ts';
import type { ClientSocket } from '../sockets/socket.ts';
import { type BridgeContext, connectWidget, disconnectWidget, refreshWidget, sendInput } from './widget-events.ts';

/** Counts the event, does the work, and answers. Returns the error if something has failed. */
type Answer = (named: NamedWork, payload: unknown, acknowledge: unknown) => Promise<AppError | undefined>;

type FailureCode = WidgetPayload<'widget_workflow_error'>['error']['code'];

/** The events of widgets. A failure is answered like that of another event, and also sent as `widget_workflow_error`. */
export function attachWidgetEvents(socket: ClientSocket, context: BridgeContext, answer: Answer): void {
  const { widget_workflow_connect, widget_send_input, widget_refresh, widget_workflow_disconnect } = clientEvents;
  on('widget_workflow_connect', 'CONNECTION_FAILED', (sent) =>
    connectWidget(socket, context, read(widget_workflow_connect, sent)),
  );
  on('widget_send_input', 'INPUT_FAILED', (sent) => sendInput(socket, context, read(widget_send_input, sent)));
  on('widget_refresh', 'REFRESH_FAILED', (sent) => refreshWidget(socket, context, read(widget_refresh, sent)));
  on('widget_workflow_disconnect', 'CONNECTION_FAILED', (sent) =>
    disconnectWidget(socket, context, read(widget_workflow_disconnect, sent)),
  );

  function on(event: ClientEvent, code: FailureCode, work: Work) {
    socket.on(event, async (payload: unknown, acknowledge: unknown) => {
      const failure = await answer({ event, work }, payload, acknowledge);
      if (failure) socket.emit('widget_workflow_error', failureOf(payload, code, failure));
    });
  }
}

/** A value to store must be storable: Postgres takes neither NUL nor half of a surrogate pair. */
function read<S extends z.ZodType>(contract: S, sent: unknown): z.output<S> {
  const unstorable = findUnstorable(sent);
  if (unstorable) throw invalid([{ ...unstorable, type: 'custom' }]);
  return requireValue(contract, sent);
}

function failureOf(payload: unknown, code: FailureCode, error: AppError): WidgetPayload<'widget_workflow_error'> {
  const widgetID = isJsonObject(payload) ? payload.widgetID : null;
  const recoverable = error.status >= 500 || error.status === 429;
  return {
    widgetID: typeof widgetID === 'string' ? widgetID.slice(0, 255) : null,
    error: { code, message: error.message, reason: error.code, recoverable },
    timestamp: new Date().toISOString(),
  };
}
