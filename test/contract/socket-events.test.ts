import { expect, test } from 'vitest';
import { type ClientEvent, ClientFailure, clientAnswers } from '#shared/messaging/realtime/client-events.ts';
import { events } from '#shared/messaging/realtime/events.ts';

const id = '01976e1c-0000-7000-8000-000000000001';
const at = '2026-03-02T09:30:00.000Z';
const example = { nodeID: 'ask', iteration: 1, frame: [{ nodeID: 'each', iteration: 1 }] };
const change = { instanceID: id, seq: 7 };

/** Payloads as clients of every earlier version know them. Lines are only ever added. */
const frozen: { [Event in keyof typeof events.server]: object[] } = {
  workflow_node_update: [
    {
      ...change,
      ...{
        more: true,
        ...example,
        attempt: 1,
        status: 'SUCCESS',
        exit: 'success',
        output: { sum: 3 },
        error: null,
        at,
      },
    },
    {
      ...change,
      ...{ ...example, attempt: 2, status: 'FAILED', exit: null, output: null, outputOmitted: true, at },
      error: { code: 'NODE_FAILED', message: 'Error: no luck', details: { line: 3 } },
      ...{ reusedFrom: id, isPinned: true, refusedWrite: 'insert into t' },
      progress: { done: 2, total: 9, failed: 1 },
    },
  ],
  workflow_status_update: [
    { ...change, status: 'COMPLETED', output: { who: 'Ada' }, error: null, at },
    {
      ...change,
      ...{ status: 'FAILED', output: null, outputOmitted: true, at },
      error: { code: 'NODE_FAILED', message: 'Error: no luck', nodeID: 'ask', attempt: 1 },
    },
    {
      ...change,
      ...{ status: 'WAITING', output: null, error: null, at },
      waiting: { reason: 'input', until: at, collectionRequestID: id },
    },
  ],
  workflow_data_collection_request: [
    { ...change, ...example, collectionRequestID: id, collectionType: 'form', collectionConfig: { title: 'Who?' } },
  ],
  workflow_log: [{ ...change, more: true, ...example, attempt: 1, level: 'info', message: 'sent', data: { n: 1 }, at }],
  asset_changed: [
    {
      ...{ tenantID: id, entity: 'appPage', id, action: 'updated', version: 3, changedBy: id },
      at,
    },
    {
      ...{ tenantID: id, entity: 'widget', id: null, action: 'many', version: null, changedBy: null },
      at,
    },
  ],
  workflow_run_changed: [
    { tenantID: id, instanceID: id, workflowID: null, status: 'FAILED', errorCode: 'NODE_FAILED', at },
    { tenantID: id, instanceID: null, workflowID: null, status: null, errorCode: null, at },
  ],
  workflow_data_collection_changed: [
    { tenantID: id, collectionRequestID: id, instanceID: id, workflowID: id, status: 'PENDING', at },
    { tenantID: id, collectionRequestID: null, instanceID: null, workflowID: null, status: null, at },
  ],
  permissions_changed: [{ tenantID: id }],
  notification: [
    {
      notificationID: id,
      userID: id,
      tenantID: id,
      kind: 'collectionRequest',
      title: 'Your approval is awaited',
      description: 'Refunds: Refund of order 7',
      subjectID: id,
      actionType: 'link',
      action: `../tenants/${id}/workflows/data-collection/${id}`,
      actionText: 'Answer',
      notifierID: `user_${id}`,
      readAt: null,
      createdAt: at,
    },
  ],
  import_job_update: [
    { userID: id, tenantID: id, jobID: id, kind: 'import', status: 'RUNNING', done: 120, total: 500 },
    { userID: id, tenantID: id, jobID: id, kind: 'rollback', status: 'FAILED', done: 0, total: null },
  ],
  workflow_data_collection_reminder: [
    {
      instanceID: id,
      nodeID: 'ask',
      iteration: 0,
      frame: [],
      collectionRequestID: id,
      title: null,
      answerURL: null,
      number: 1,
      of: 3,
    },
  ],
  workflow_intake_update: [{ tenantID: id, workflowID: null, pausedAt: at }],
  listener_event: [
    {
      ...{ listenerID: id, eventID: id, channelName: 'orders', data: [1], dataOmitted: true, mode: 'append' },
      ...{ limit: 1_000, timestamp: 1_772_443_800_000 },
    },
  ],
  listener_test_event: [
    {
      ...{ listenerID: id, rawEvent: { n: 1 }, transformedEvent: null, transformError: 'Error: no luck' },
      ...{ dataOmitted: true, timestamp: 1_772_443_800_000 },
    },
  ],
  widget_workflow_connected: [
    {
      ...{ widgetID: id, instanceID: id, workflowID: id, mode: 'execute', initialContext: { input: { day: 1 } } },
      ...{ workflowMeta: null, seq: 0 },
    },
    {
      ...{ widgetID: `widget_${id}_1`, instanceID: id, workflowID: null, mode: 'subscribe', initialContext: null },
      ...{ contextOmitted: ['rows'], workflowMeta: { status: 'WAITING' }, seq: 7 },
    },
    {
      ...{ widgetID: id, instanceID: id, workflowID: id, mode: 'replay', initialContext: {}, workflowMeta: null },
      ...{ workflowStatus: 'COMPLETED', seq: 7 },
    },
  ],
  widget_context_update: [
    {
      ...{ widgetID: id, ...change, more: true, timestamp: at },
      update: {
        ...{ type: 'NODE_COMPLETE', ...example, nodeType: 'javascript', outputVariable: 'sum', value: 3 },
        ...{ status: 'SUCCESS', contextSnapshot: { input: {}, sum: 3 } },
      },
    },
    {
      ...{ widgetID: id, ...change, timestamp: at },
      update: {
        ...{
          type: 'NODE_COMPLETE',
          ...example,
          nodeType: 'end',
          outputVariable: null,
          value: null,
          valueOmitted: true,
        },
        ...{ status: 'FAILED', contextSnapshot: null, contextOmitted: ['rows'] },
      },
    },
  ],
  widget_workflow_status: [
    {
      ...{ widgetID: id, ...change, status: 'COMPLETED', finalContext: { input: {} }, contextOmitted: ['rows'] },
      ...{ output: null, outputOmitted: true, error: null, timestamp: at },
    },
    {
      ...{ widgetID: id, ...change, more: true, status: 'WAITING', finalContext: null, output: null },
      ...{ error: null, waiting: { reason: 'event' }, timestamp: at },
    },
  ],
  widget_workflow_error: [
    {
      ...{ widgetID: null, timestamp: at },
      error: { code: 'CONNECTION_FAILED', message: 'No', reason: 'PERMISSION_DENIED', recoverable: false },
    },
  ],
  widget_input_received: [{ widgetID: id, instanceID: id, inputType: 'form_submit', success: true }],
  widget_workflow_disconnected: [{ widgetID: id, success: true }],
  fleet_update: [{}],
  fleet_tenant_update: [{ tenantID: id }],
};

test.each(Object.entries(frozen))('%s keeps every field that clients know', (event, payloads) => {
  expect(payloads.length).toBeGreaterThan(0);
  const contract = events.server[event as keyof typeof events.server];
  for (const payload of payloads) expect(contract.strict().parse(payload)).toEqual(payload);
});

/** Messages that clients of every earlier version send. */
const sent: { [Event in ClientEvent]: unknown[] } = {
  workflow_run_join: [{ instanceID: id, lastSeq: 3 }, { runId: id }],
  join_room: [`tenant:${id}`],
  leave_room: [`listener_test:${id}`],
  widget_workflow_connect: [
    {
      ...{ widgetID: id, workflowID: id, inputParams: { day: 1 }, tenantID: id },
      ...{ widgetType: 'table', widgetConfig: {}, workflowConfig: {} },
    },
    { widgetID: `widget_${id}_1`, mode: 'execute', workflowID: id, inputValues: { day: 1 }, idempotencyKey: 'k' },
    { widgetID: id, mode: 'subscribe', instanceID: id, lastSeq: 3 },
    { widgetID: id, mode: 'replay', instanceID: id },
    { widgetID: id, appPageID: id, workflowAlias: 'refunds' },
  ],
  widget_send_input: [
    { widgetID: id, inputType: 'filter_change', data: { day: 1 } },
    { widgetID: id, instanceID: id, inputType: 'action', data: null, idempotencyKey: 'k' },
  ],
  widget_refresh: [{ widgetID: id }, { widgetID: id, inputParams: {}, tenantID: id, idempotencyKey: 'k' }],
  widget_workflow_disconnect: [{ widgetID: id }],
};

test.each(Object.entries(sent))('%s takes what clients have always sent', (event, payloads) => {
  expect(payloads.length).toBeGreaterThan(0);
  for (const payload of payloads)
    expect(() => events.client[event as ClientEvent].parse(payload), JSON.stringify(payload)).not.toThrow();
});

const connected = { success: true, widgetID: id, instanceID: id, status: 'RUNNING', seq: 3 };
const answered: { [Event in ClientEvent]: object } = {
  workflow_run_join: { success: true, instanceID: id, status: 'RUNNING', seq: 3 },
  join_room: { success: true, room: `tenant:${id}` },
  leave_room: { success: true, room: `tenant:${id}` },
  widget_workflow_connect: connected,
  widget_send_input: {
    ...{ success: true, widgetID: id, instanceID: id, inputType: 'form_submit', eventID: id, reached: 1 },
  },
  widget_refresh: connected,
  widget_workflow_disconnect: { success: true, widgetID: id },
};

test.each(Object.entries(answered))('the answer to %s keeps every field that clients know', (event, answer) => {
  expect(clientAnswers[event as ClientEvent].strict().parse(answer)).toEqual(answer);
});

test('a refused event is answered with the error as over HTTP', () => {
  const failure = { success: false, error: { code: 'PERMISSION_DENIED', message: 'You may not join this room' } };

  expect(ClientFailure.strict().parse(failure)).toEqual(failure);
});
