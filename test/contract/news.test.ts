import { expect, test } from 'vitest';
import { type TenantEvent, tenantEvents } from '#shared/realtime/events.ts';

const id = '01976e1c-0000-7000-8000-000000000001';

/** Payloads as clients of every earlier version know them. Lines are only ever added. */
const frozen: { [Event in TenantEvent]: object[] } = {
  asset_changed: [
    {
      ...{ tenantID: id, entity: 'appPage', id, action: 'updated', version: 3, changedBy: id },
      at: '2026-03-02T09:30:00.000Z',
    },
    {
      ...{ tenantID: id, entity: 'widget', id: null, action: 'many', version: null, changedBy: null },
      at: '2026-03-02T09:30:00.000Z',
    },
  ],
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
      createdAt: '2026-03-02T09:30:00.000Z',
    },
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
};

test.each(Object.entries(frozen))('%s keeps every field that clients know', (event, payloads) => {
  for (const payload of payloads) expect(tenantEvents[event as TenantEvent].strict().parse(payload)).toEqual(payload);
});
