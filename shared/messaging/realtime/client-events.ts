import { z } from 'zod';
import { Json, JsonObject } from '../../core/json.ts';
import { givenInputs, type InputsByName } from '../../core/schema/field-aliases.ts';
import { idOf } from '../../core/schema/reference.ts';
import { RunStatus } from '../../workflow/progress/status.ts';
import { BridgeMode } from './widget-events.ts';

const LastSeq = z.int().min(0).describe('The events after this number are sent: that of the last one the client has');

const Key = z
  .string()
  .min(1)
  .max(255)
  .describe('A repeated event with the same key has no second effect: its answer is that to the first');

/** Older clients call a run's id `runId`. */
const RunJoin = z
  .object({ instanceID: idOf('run').optional(), runId: idOf('run').optional(), lastSeq: LastSeq.default(0) })
  .transform(({ instanceID, runId, lastSeq }, check) => {
    const id = instanceID ?? runId;
    if (id) return { instanceID: id, lastSeq };
    check.addIssue({ code: 'custom', path: ['instanceID'], message: 'is required' });
    return z.NEVER;
  });

const Room = z
  .string()
  .min(1)
  .max(255)
  .describe(
    '`tenant:<tenantID>`, `listener_test:<listenerID>` or `listener:app_page:<appPageID>`; to leave, also a run',
  );

const UUID = '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}';
const WIDGET = new RegExp(`^(?:(${UUID})|widget_(${UUID})_\\S+)$`);

/** A widget, or one occurrence of it on a page: each occurrence is connected to a run by itself. */
const WidgetKey = z
  .string()
  .max(255)
  .regex(WIDGET, { message: 'expected the id of a widget, or widget_<id>_<suffix>' })
  .describe('The id of a widget, or its key on a page: `widget_<id>_<suffix>`');

/** The id of the widget in a key. */
export function widgetOf(key: string): string {
  const [, id, idOfOccurrence] = WIDGET.exec(key) ?? [];
  return (id ?? idOfOccurrence ?? '').toLowerCase();
}

const inputNames = ['inputParams', 'inputValues'] as const;
const inputs = {
  inputParams: JsonObject.optional().describe('The inputs of the run'),
  inputValues: JsonObject.optional().describe('Another name for `inputParams`'),
};

type Inputs = InputsByName<(typeof inputNames)[number]>;

function withInputs<T extends Inputs>({ inputParams, inputValues, ...sent }: T, check: z.core.$RefinementCtx) {
  return { ...sent, inputs: givenInputs({ inputParams, inputValues }, inputNames, check) };
}

const WidgetConnect = z
  .object({
    widgetID: WidgetKey,
    mode: BridgeMode.default('execute').describe(
      '`execute` starts a run, `subscribe` attaches to a run, `replay` tells once what a run has come to',
    ),
    workflowID: idOf('workflow').optional().describe('To execute'),
    instanceID: idOf('run').optional().describe('To subscribe to, or to replay'),
    ...inputs,
    tenantID: idOf('tenant').optional().describe('If it is given, the workflow or the run must be of this tenant'),
    appPageID: idOf('appPage').optional().describe('To execute, with `workflowAlias`, what an app page binds'),
    workflowAlias: z.string().min(1).max(255).optional(),
    lastSeq: LastSeq.optional().describe('Absent: a run that is subscribed to is told from now on'),
    idempotencyKey: Key.optional(),
    widgetType: z.unknown().optional().describe('Taken, and not used'),
    widgetConfig: z.unknown().optional().describe('Taken, and not used'),
    workflowConfig: z.unknown().optional().describe('Taken, and not used'),
  })
  .superRefine((sent, check) => {
    const { mode, workflowID, instanceID, appPageID, workflowAlias } = sent;
    const need = (field: string, value: unknown) => {
      if (value === undefined) check.addIssue({ code: 'custom', path: [field], message: `is required to ${mode}` });
    };
    if (mode !== 'execute') need('instanceID', instanceID);
    else if (appPageID !== undefined) need('workflowAlias', workflowAlias);
    else need('workflowID', workflowID);
  })
  .transform(withInputs);
export type WidgetConnect = z.output<typeof WidgetConnect>;

const WidgetInput = z.object({
  widgetID: WidgetKey,
  instanceID: idOf('run').optional().describe('By default the run to which the widget is connected'),
  inputType: z.string().min(1).max(255).describe('`form_submit`, `filter_change`, `action`, or another word'),
  data: Json.default(null),
  idempotencyKey: Key.optional(),
});
export type WidgetInput = z.output<typeof WidgetInput>;

const WidgetRefresh = z
  .object({
    widgetID: WidgetKey,
    ...inputs,
    tenantID: idOf('tenant').optional(),
    idempotencyKey: Key.optional(),
  })
  .transform(withInputs);
export type WidgetRefresh = z.output<typeof WidgetRefresh>;

/** Events that clients send. */
export const clientEvents = {
  workflow_run_join: RunJoin,
  join_room: Room,
  leave_room: Room,
  widget_workflow_connect: WidgetConnect,
  widget_send_input: WidgetInput,
  widget_refresh: WidgetRefresh,
  widget_workflow_disconnect: z.object({ widgetID: WidgetKey }),
} as const;
export type ClientEvent = keyof typeof clientEvents;

const InRoom = z.object({ success: z.literal(true), room: z.string() });
const Connected = z.object({
  success: z.literal(true),
  widgetID: z.string(),
  instanceID: z.uuid(),
  status: RunStatus,
  seq: z.int().describe('Of the run now. Events up to it that the client lacks are sent after this answer'),
});

/** Acknowledgements of these events where they succeed. */
export const clientAnswers = {
  workflow_run_join: z.object({ success: z.literal(true), instanceID: z.uuid(), status: RunStatus, seq: z.int() }),
  join_room: InRoom,
  leave_room: InRoom,
  widget_workflow_connect: Connected,
  widget_send_input: z.object({
    success: z.literal(true),
    widgetID: z.string(),
    instanceID: z.uuid(),
    inputType: z.string(),
    eventID: z.uuid(),
    reached: z.int().describe('1 if a node of the run waited for it. 0: it is remembered for an hour'),
  }),
  widget_refresh: Connected,
  widget_workflow_disconnect: z.object({ success: z.literal(true), widgetID: z.string() }),
} as const satisfies Record<ClientEvent, z.ZodType>;

/** The acknowledgement of an event that is refused or has failed. */
export const ClientFailure = z.object({
  success: z.literal(false),
  error: z.object({
    code: z.string(),
    message: z.string(),
    requestID: z.string().optional().describe('For errors of the service: it is in the log, too'),
  }),
});
