import { exampleCreator, exampleIDs, exampleTimes } from '../../http/example-ids.ts';

const { tenantID, workflowID, versionID, instanceID, dataQueryID, collectionRequestID, userID, batchID } = exampleIDs;

const fields = [{ key: 'approved', label: 'Approve the order?', fieldType: 'checkbox', required: true }];

const exampleNodes = [
  { id: 'start', type: 'start', data: { title: 'Start' }, position: { x: 0, y: 0 } },
  {
    id: 'order',
    type: 'dataQuery',
    data: {
      title: 'Read the order',
      dataQueryID,
      inputValues: { id: '{{ctx.input.orderID}}' },
      outputVariable: 'order',
    },
    position: { x: 240, y: 0 },
  },
  { id: 'ask', type: 'dataCollection', data: { title: 'Ask a person', fields }, position: { x: 480, y: 0 } },
  {
    id: 'end',
    type: 'end',
    data: { outputParameters: [{ name: 'answer', sourceVariable: '{{ctx.collectedData}}' }] },
    position: { x: 720, y: 0 },
  },
];

const exampleEdges = [
  { id: 'e1', source: 'start', target: 'order', sourceHandle: 'output' },
  { id: 'e2', source: 'order', target: 'ask', sourceHandle: 'success' },
  { id: 'e3', source: 'ask', target: 'end', sourceHandle: 'output' },
];

const exampleOptions = { inputDefinitions: [{ key: 'orderID', type: 'number', required: true }] };

export const exampleWorkflowCreate = {
  title: 'Approve an order',
  workflowDescription: 'Reads an order and asks a person about it',
  workflowNodes: exampleNodes,
  workflowEdges: exampleEdges,
  workflowOptions: exampleOptions,
};

export const exampleGenerate = { aiPrompt: 'Read an order, ask a person whether it is right, and return the answer' };
export const exampleGenerated = {
  workflow: { ...exampleWorkflowCreate, draft: true as const },
  missing: [{ kind: 'missing' as const, message: 'A query that reads an order by its id' }],
  assumptions: ['One person decides.'],
  message: 'Workflow generated; it is not saved',
};

export const exampleWorkflowUpdate = { workflowTitle: 'Approve a large order', isDisabled: false };
export const exampleRunInputs = { args: { orderID: 4711 } };

export const exampleWorkflowTest = {
  nodes: exampleNodes,
  edges: exampleEdges,
  workflowOptions: exampleOptions,
  ...exampleRunInputs,
};

export const exampleSummary = {
  id: workflowID,
  tenantID,
  title: 'Approve an order',
  workflowTitle: 'Approve an order',
  workflowDescription: 'Reads an order and asks a person about it',
  workflowOptions: exampleOptions,
  versionID,
  versionNumber: 3,
  publishedVersionID: versionID,
  folderID: null,
  ...exampleCreator,
  isDisabled: false,
  pausedAt: null,
  ...exampleTimes,
};

export const exampleWorkflow = { ...exampleSummary, workflowNodes: exampleNodes, workflowEdges: exampleEdges };

export const exampleIntake = { pausedAt: '2026-03-05T14:05:12.490Z' };

const startedAt = '2026-03-05T14:05:12.490Z';

export const exampleInstanceSummary = {
  instanceID,
  workflowID,
  workflowTitle: 'Approve an order',
  versionID,
  versionNumber: 3,
  status: 'WAITING',
  isTest: false,
  origin: 'direct',
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

export const exampleInstance = {
  ...exampleInstanceSummary,
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

export const exampleExecution = {
  instanceID,
  status: 'COMPLETED',
  output: { answer: { approved: true } },
  error: null,
};

export const exampleSubmission = { submittedData: { approved: true } };

export const exampleCollectionRequest = {
  collectionRequestID,
  instanceID,
  workflowID,
  nodeID: 'ask',
  iteration: 0,
  frame: [],
  status: 'COMPLETED',
  collectionType: 'form',
  collectionConfig: { fields },
  ...exampleSubmission,
  submittedBy: userID,
  expiresAt: '2026-03-05T15:05:12.530Z',
  answerURL: null,
  ...exampleTimes,
};

export const exampleForm = {
  collectionType: 'form',
  title: 'Ask a person',
  fields,
  expiresAt: '2026-03-05T15:05:12.530Z',
};

export const exampleNode = {
  nodeType: 'delay',
  label: 'Delay',
  schema: {
    type: 'object',
    properties: { delayMs: { title: 'Milliseconds', description: 'Of a fixed time', type: 'number' } },
  },
  uischema: { type: 'VerticalLayout', elements: [{ type: 'Control', scope: '#/properties/delayMs' }] },
  defaultValue: { title: 'Wait', delayMs: 1000 },
  exits: ['output', 'error'],
  usualExit: 'output',
  bodyExit: null,
  forks: false,
  exitAliases: {},
  begins: false,
};

export const exampleVersionSummary = {
  versionID,
  workflowID,
  tenantID,
  versionNumber: 3,
  label: 'Before the migration',
  isPublished: true,
  publishedAt: exampleTimes.updatedAt,
  publishedBy: userID,
  ...exampleCreator,
  createdAt: exampleTimes.updatedAt,
};

export const exampleVersion = {
  ...exampleVersionSummary,
  workflowNodes: exampleNodes,
  workflowEdges: exampleEdges,
  workflowOptions: exampleOptions,
};

export const exampleDiff = {
  before: null,
  after: exampleVersionSummary,
  nodes: { added: exampleNodes.slice(0, 1), removed: [], changed: [{ id: 'ask', paths: [['data', 'title']] }] },
  edges: { added: [], removed: [], changed: [] },
  options: [['inputDefinitions']],
};

export const exampleBulk = {
  items: [
    { args: { orderID: 4711 }, idempotencyKey: 'order-4711' },
    { args: { orderID: 'none' }, tags: ['north'] },
  ],
  label: 'Orders of March',
};

export const exampleBulkAnswer = {
  batchID,
  accepted: 1,
  replayed: 0,
  refused: 1,
  items: [
    { instanceID, isReplay: false, error: null },
    {
      instanceID: null,
      isReplay: false,
      error: {
        code: 'VALIDATION_ERROR',
        message: 'items.1.args.orderID: expected a number, received "none"',
        details: {
          issues: [
            {
              path: ['items', 1, 'args', 'orderID'],
              message: 'expected a number, received "none"',
              type: 'custom',
            },
          ],
        },
      },
    },
  ],
};

export const exampleFilter = { workflowID, errorCode: 'UPSTREAM_TIMEOUT', from: '2026-03-05T12:00:00.000Z' };

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
