import { exampleCreator, exampleIDs, exampleTimes } from '../../http/fields/example-ids.ts';
import { exampleFields, exampleRunInputs } from '../../runs/examples.ts';

const { tenantID, workflowID, versionID, dataQueryID, userID } = exampleIDs;

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
  {
    id: 'ask',
    type: 'dataCollection',
    data: { title: 'Ask a person', fields: exampleFields },
    position: { x: 480, y: 0 },
  },
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
  isOfferedAsTool: false,
  pausedAt: null,
  ...exampleTimes,
};

export const exampleWorkflow = { ...exampleSummary, workflowNodes: exampleNodes, workflowEdges: exampleEdges };

export const exampleIntake = { pausedAt: '2026-03-05T14:05:12.490Z' };

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
  isChunked: false,
  isPure: false,
  takesLinks: false,
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
