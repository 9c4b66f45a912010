import { exampleCreator, exampleIDs, exampleTimes } from '../../http/fields/example-ids.ts';

const { tenantID, listenerID, actionID, datasourceID, workflowID } = exampleIDs;

const actionConfig = { workflowID, inputValues: { orderID: '{{event.body.id}}' } };
export const exampleActionCreate = { actionType: 'trigger_workflow', actionConfig };
export const exampleActionUpdate = { isEnabled: false };

export const exampleListenerCreate = {
  listenerTitle: 'Orders of the shop',
  datasourceID,
  listenerType: 'webhook',
  endpointPath: 'orders/:orderID',
  status: 'active',
  actions: [exampleActionCreate],
};
export const exampleListenerUpdate = { listenerTitle: 'Orders of the shop (north)' };

export const exampleAction = {
  id: actionID,
  actionID,
  listenerID,
  actionType: 'trigger_workflow',
  actionConfig,
  isEnabled: true,
  orderIndex: 0,
  ...exampleTimes,
};

export const exampleBreaker = {
  state: 'open' as const,
  openedAt: '2026-03-05T14:05:12.480Z',
  nextProbeAt: '2026-03-05T14:05:22.480Z',
  failures: 10,
  error: { code: 'UPSTREAM_FAILED', message: 'The server does not answer' },
};

export const exampleListener = {
  id: listenerID,
  listenerID,
  tenantID,
  datasourceID,
  listenerTitle: 'Orders of the shop',
  listenerDescription: null,
  listenerType: 'webhook',
  listenerConfig: { answerMode: 'ack' },
  status: 'active',
  lastError: null,
  breaker: null,
  lastEventAt: '2026-03-05T14:05:12.480Z',
  eventCount: 12,
  endpointPath: 'orders/:orderID',
  webhookPaths: [`/webhooks/v1/inbound/${tenantID}/orders/:orderID`, `/webhooks/v1/inbound/${listenerID}`],
  transformScript: null,
  actions: [exampleAction],
  datasource: { datasourceID, datasourceTitle: 'The shop', datasourceType: 'webhook' },
  folderID: null,
  ...exampleCreator,
  ...exampleTimes,
};

export const exampleConnections = {
  [listenerID]: { state: 'running', type: 'webhook', retryCount: 0, title: 'Orders of the shop', refusals: 2 },
};
