import { exampleCreator, exampleIDs, exampleTimes } from '../../http/fields/example-ids.ts';
import { exampleFilter, exampleRunInputs } from '../../runs/examples.ts';

const { workflowID, versionID, instanceID, collectionRequestID, batchID } = exampleIDs;

const startedAt = '2026-03-05T14:05:12.490Z';

export const exampleStarter = { type: 'user', id: '01990d3e-5c00-7a10-8000-000000000001' };

export const exampleInstanceSummary = {
  instanceID,
  workflowID,
  workflowTitle: 'Approve an order',
  versionID,
  versionNumber: 3,
  status: 'WAITING',
  isTest: false,
  origin: 'direct',
  startedBy: exampleStarter,
  tags: ['north'],
  errorCode: null,
  startAt: null,
  batchID: null,
  rerunOf: null,
  parentInstanceID: null,
  parentNodeID: null,
  mapID: null,
  createdAt: exampleTimes.updatedAt,
  startedAt,
  completedAt: null,
};

const order = { id: 4711, total: '249.00' };

export const exampleFailureHandling = { workflowID, instanceID, error: null };

export const exampleMapChunk = {
  first: 400,
  size: 200,
  instanceID,
  status: 'COMPLETED' as const,
  failed: 1,
  failedStep: { nodeID: 'order', frame: [{ nodeID: 'map', iteration: 412 }] },
};

export const exampleDelivery = {
  deliveryID: exampleIDs.deliveryID,
  instanceID,
  workflowID,
  url: 'https://shop.example.com/hooks/gantry',
  status: 'PENDING' as const,
  attempts: [
    {
      number: 1,
      at: '2026-03-05T14:05:13.100Z',
      durationMs: 212,
      status: 503,
      response: 'Service Unavailable',
      error: null,
    },
  ],
  nextAttemptAt: '2026-03-05T14:05:18.300Z',
  createdAt: exampleTimes.updatedAt,
  settledAt: null,
};

export const exampleTrigger = {
  type: 'cronJob',
  id: '01990d3e-5c00-7a10-8000-000000000002',
  tickID: '01990d3e-5c00-7a10-8000-000000000003',
  scheduledAt: '2026-03-05T14:05:00.000Z',
};

export const exampleInstance = {
  ...exampleInstanceSummary,
  trigger: null,
  seq: 4,
  input: exampleRunInputs.args,
  output: null,
  error: null,
  waiting: { reason: 'input', until: '2026-03-05T15:05:12.530Z', collectionRequestID },
  timeline: [
    {
      seq: 2,
      nodeID: 'order',
      iteration: 0,
      frame: [],
      attempt: 1,
      status: 'SUCCESS',
      exit: 'success',
      output: order,
      error: null,
      at: '2026-03-05T14:05:12.520Z',
    },
  ],
  nextSeq: null,
  nodes: [
    {
      nodeID: 'order',
      iteration: 0,
      frame: [],
      attempt: 1,
      status: 'SUCCESS',
      exit: 'success',
      startedAt,
      completedAt: '2026-03-05T14:05:12.520Z',
    },
  ],
};

export const exampleRerunMany = { filter: exampleFilter, from: 'failed', label: 'After the outage' };

export const exampleCancelMany = { filter: { workflowID, tag: 'north' } };

const exampleBatchSummary = {
  batchID,
  workflowID,
  kind: 'execute',
  label: 'Orders of March',
  total: 1,
  refused: 1,
  ...exampleCreator,
  createdAt: exampleTimes.createdAt,
  filter: null,
  lookedAt: 0,
  filledAt: null,
  lastError: null,
  cancelledAt: null,
  cancelledBy: null,
};

export const exampleBatch = {
  ...exampleBatchSummary,
  status: 'COMPLETED',
  counts: { PENDING: 0, RUNNING: 0, WAITING: 0, COMPLETED: 1, FAILED: 0, CANCELLED: 0 },
};

export const exampleRerun = { from: 'failed', version: 'published' };

export const exampleRerunAnswer = { instanceID, rerunOf: instanceID, reused: ['start', 'order'], changed: [] };

export const exampleRerunPreview = {
  ...{ reused: ['start', 'order'], changed: [], executed: ['ship', 'end'] },
  ...{ versionID, versionNumber: 3 },
};

export const exampleLogLine = {
  seq: 4,
  at: exampleTimes.updatedAt,
  source: 'node',
  level: 'info',
  nodeID: 'order',
  iteration: 0,
  frame: [],
  attempt: 1,
  message: 'Order 4711 has 3 items',
};

export const exampleStepInput = {
  ...{ instanceID, nodeID: 'order', frame: [], attempt: 1, status: 'SUCCESS', startedAt: exampleTimes.updatedAt },
  settings: {
    values: { title: 'Record the order', inputValues: { id: 4711 } },
    inDoubt: [],
  },
  ctx: { input: { order: 4711 } },
  omitted: [],
  mayLackKeys: false,
};
