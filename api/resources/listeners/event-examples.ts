import { exampleIDs } from '../../http/fields/example-ids.ts';

const { listenerID, eventID, actionID, instanceID, versionID } = exampleIDs;
const receivedAt = '2026-03-05T14:05:12.480Z';

export const exampleEvent = {
  eventID,
  listenerID,
  source: 'webhook',
  receivedAt,
  state: 'dead' as const,
  attempts: 1,
  nextAttemptAt: null,
  heldBy: null,
  error: { code: 'VALIDATION_ERROR', message: 'The body is not JSON, as its type says' },
  instanceID: null,
  duplicateOf: null,
  replayOf: null,
  bodyBytes: 9,
  finishedAt: '2026-03-05T14:05:12.512Z',
  expiresAt: '2026-04-04T14:05:12.512Z',
};

export const exampleEventDetail = {
  ...exampleEvent,
  method: 'POST',
  path: `/webhooks/v1/inbound/${listenerID}`,
  query: '',
  params: {},
  headers: [['content-type', 'application/json'] as [string, string]],
  meta: null,
  bodyText: '{"id": 7,',
  bodyBase64: null,
  actions: {
    [actionID]: { type: 'trigger_workflow', state: 'done' as const, attempts: 1, at: receivedAt, instanceID },
  },
};

export const exampleCounts = {
  from: '2026-03-04T14:06:00.000Z',
  to: '2026-03-05T14:06:00.000Z',
  total: 1_012,
  pending: 0,
  done: 1_000,
  filtered: 4,
  duplicate: 7,
  dead: 1,
  replaced: 0,
};

export const exampleRedrive = { filter: { errorCode: 'NOT_FOUND' }, perSecond: 50 };

export const exampleBuffered = {
  id: eventID,
  eventID,
  listenerID,
  bufferName: 'default',
  seqNo: 12,
  eventData: { method: 'POST', body: { orderID: 7 } },
  eventMeta: { source: 'webhook', actionID },
  receivedAt,
};

const completed = { status: 'COMPLETED' as const, versionID, error: null };
const succeeded = { status: 'SUCCESS', exit: 'output', error: null };

export const exampleShadow = {
  eventID,
  original: { ...completed, instanceID },
  shadow: { ...completed, instanceID: '01990d3e-5c00-7a10-8000-00000000002a' },
  diff: {
    nodes: [
      {
        nodeID: 'total',
        frame: [],
        state: 'changed' as const,
        before: succeeded,
        after: succeeded,
        changes: [{ path: ['total', 'net'], from: 100, to: 84.03 }],
      },
      {
        nodeID: 'save',
        frame: [],
        state: 'refused' as const,
        before: succeeded,
        after: { status: 'SKIPPED', exit: 'output', error: null },
        refusedWrite: 'insert into orders (total) values ($1)',
        changes: [],
      },
    ],
    isCut: false,
    output: [],
  },
};
