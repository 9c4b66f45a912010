import { expect, test } from 'vitest';
import { Caller } from '#shared/core/caller.ts';
import type { QueueDefinition } from '#shared/messaging/queues/define-queue.ts';
import { type AnyRPC, type QueueName, queues } from '#shared/messaging/queues/index.ts';
import { tenantDatabase } from '#shared/messaging/queues/tenant-database.ts';

const ask = {
  askID: '01976e1c-0000-7000-8000-000000000001',
  replyTo: 'asks.0123456789abcdef',
  deadline: 1_795_000_000_000,
  sealed: 'gs1.k1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
};

/** Jobs as processes of every earlier version wrote them. Lines are only ever added. */
const frozen: { [Name in QueueName]: unknown[] } = {
  'workflow.runs': [
    { instanceID: '01976e1c-0000-7000-8000-000000000001', epoch: 1 },
    { instanceID: '01976e1c-0000-7000-8000-000000000001', epoch: 1, again: 2 },
    {
      tenantID: '01976e1c-0000-7000-8000-000000000003',
      instanceID: '01976e1c-0000-7000-8000-000000000001',
      epoch: 1,
    },
    {
      tenantID: '01976e1c-0000-7000-8000-000000000003',
      instanceID: '01976e1c-0000-7000-8000-000000000001',
      epoch: 1,
      more: [{ instanceID: '01976e1c-0000-7000-8000-000000000002', epoch: 3 }],
    },
  ],
  'listener.events': [
    { tenantID: '01976e1c-0000-7000-8000-000000000003', eventID: '01976e1c-0000-7000-8000-000000000001' },
    { tenantID: '01976e1c-0000-7000-8000-000000000003', eventID: '01976e1c-0000-7000-8000-000000000001', attempt: 2 },
  ],
  'datasource.tests': [ask],
  'datasource.metadata': [ask],
  'query.runs': [ask],
  'tenant.database': [ask],
  'oauth.exchange': [ask],
  'workflow.plans': [ask],
  'widget.data': [ask],
  'ai.calls': [ask],
  'cron.ticks': [
    { tenantID: '01976e1c-0000-7000-8000-000000000003', cronJobID: '01976e1c-0000-7000-8000-000000000004' },
  ],
  'audit.entries': [
    {
      batchID: '01976e1c-0000-7000-8000-000000000001',
      records: [
        {
          id: '01976e1c-0000-7000-8000-000000000002',
          tenantID: '01976e1c-0000-7000-8000-000000000003',
          kind: 'entry',
          entryID: null,
          type: 'API_REQUEST',
          action: 'GET',
          userID: '01976e1c-0000-7000-8000-000000000001',
          apiKeyID: null,
          path: '/api/v1/tenants/01976e1c-0000-7000-8000-000000000003/workflows',
          assetType: null,
          assetID: null,
          status: 200,
          durationMs: 4,
          details: {},
          at: '2026-11-23T05:00:00.000Z',
        },
      ],
    },
  ],
};

const database = { schema: 'public', table: 'orders' };
const row = { id: 1 };
const filter = { id: { '=': 1 } };
const caller = {
  type: 'user',
  id: '01976e1c-0000-7000-8000-000000000001',
  userID: '01976e1c-0000-7000-8000-000000000001',
  origin: 'direct',
};
const tenantID = '01976e1c-0000-7000-8000-000000000003';

/** Questions in encrypted jobs, as above. Lines are only ever added. */
const frozenRequests: { [Name in AnyRPC['name']]: unknown[] } = {
  'datasource.tests': [{ kind: 'url', url: 'postgresql://user:password@db.example:5432/orders' }],
  'datasource.metadata': [{ tenantID, datasourceID: tenantID, path: ['public'] }],
  'workflow.plans': [{ tenantID, versionID: tenantID, input: { n: 1 } }],
  'widget.data': [
    { tenantID, caller, widget: { kind: 'stored', widgetID: tenantID }, state: { a: 1 }, isFresh: false },
    {
      tenantID,
      caller,
      widget: { kind: 'given', widgetType: 'bar', dataQueries: [{ dataQueryID: tenantID }] },
      state: {},
      isFresh: true,
    },
  ],
  'ai.calls': [
    { kind: 'test', tenantID, caller, settings: null },
    {
      kind: 'test',
      tenantID,
      caller,
      settings: { provider: 'openai', baseURL: null, model: 'a model', apiKey: 'a key' },
    },
    {
      kind: 'text',
      tenantID,
      caller,
      purpose: 'query',
      instructions: 'Write SQL.',
      messages: [{ role: 'user', content: 'Open orders' }],
      maxOutputTokens: 4_000,
    },
    { kind: 'chat', tenantID, caller, answerID: tenantID, place: '{"route": "/"}' },
  ],
  'query.runs': [
    {
      tenantID,
      caller,
      query: { kind: 'stored', dataQueryID: tenantID },
      inputs: { n: 1 },
      mode: 'run',
      isFresh: false,
    },
  ],
  'tenant.database': [
    // With the field names that clients have used.
    {
      kind: 'createTable',
      ...database,
      columns: [],
      constraints: [],
      columnsField: 'databaseTableColumns',
      constraintsField: 'constraints',
      ifNotExists: false,
      preview: false,
    },
    {
      kind: 'updateTable',
      ...database,
      columns: null,
      constraints: [],
      columnsField: 'columns',
      constraintsField: 'databaseTableConstraints',
      preview: false,
    },
    {
      kind: 'listRows',
      ...database,
      page: 1,
      pageSize: 10,
      filter,
      filterField: 'q',
      order: [],
      orderField: 'sort',
      count: false,
    },
    { kind: 'updateRows', ...database, changes: [{ data: row, where: filter, whereField: 'query', all: false }] },
    { kind: 'deleteRows', ...database, filter: null, filterField: 'where', all: true },
    {
      kind: 'exportRows',
      ...database,
      filter,
      filterField: 'query',
      order: [],
      orderField: 'order',
      callerID: tenantID,
    },
    { kind: 'readStatistics', ...database, filter, filterField: 'q' },
    // Without them.
    { kind: 'createTable', ...database, columns: [], constraints: [], ifNotExists: false, preview: false },
    { kind: 'updateTable', ...database, columns: null, constraints: [], preview: false },
    { kind: 'listRows', ...database, page: 1, pageSize: 10, filter, order: [], count: false },
    { kind: 'updateRows', ...database, changes: [{ data: row, where: filter, all: false }] },
    { kind: 'deleteRows', ...database, filter: null, all: true },
    { kind: 'exportRows', ...database, filter, order: [], callerID: tenantID },
    { kind: 'readStatistics', ...database, filter },
  ].map((operation) => ({ tenantID, operation })),
  'oauth.exchange': [
    {
      oauthConnectionID: tenantID,
      provider: 'google',
      code: 'c',
      redirectURI: 'https://api.example/callback',
      codeVerifier: 'v',
      nonce: 'n',
    },
  ],
};

const callers = [
  {
    type: 'user',
    id: '01976e1c-0000-7000-8000-000000000001',
    userID: '01976e1c-0000-7000-8000-000000000001',
    origin: 'direct',
  },
  {
    type: 'system',
    id: '01976e1c-0000-7000-8000-000000000001',
    origin: 'workflow',
    originID: '01976e1c-0000-7000-8000-000000000002',
  },
];

test.each(queues.flatMap((queue) => frozen[queue.name].map((payload) => ({ queue, payload }))))(
  'a job of $queue.name from any earlier version can still be read',
  ({ queue, payload }) => {
    expect(() => queue.payload.parse(payload)).not.toThrow();
  },
);

const asks = queues.filter((queue): queue is AnyRPC => 'request' in queue);

test.each(asks.flatMap((queue) => frozenRequests[queue.name].map((request) => ({ queue, request }))))(
  'a request of $queue.name from any earlier version can still be read: $request.operation.kind',
  ({ queue, request }) => {
    expect(() => queue.request.parse(request)).not.toThrow();
  },
);

test('field names that clients have used are ignored', () => {
  const operations = frozenRequests['tenant.database'].map(
    (request) => tenantDatabase.request.parse(request).operation,
  );
  const half = operations.length / 2;

  expect(operations.slice(0, half)).toEqual(operations.slice(half));
});

test.each(callers)('a caller stored by any earlier version can still be read: $type', (caller) => {
  expect(Caller.parse(caller)).toEqual(caller);
});

test('every queue has a frozen sample, and its jobs have ids that BullMQ accepts', () => {
  for (const queue of queues as readonly QueueDefinition[]) {
    const samples = frozen[queue.name as QueueName];
    expect(samples.length).toBeGreaterThan(0);
    expect(queue.name).not.toContain(':');
    for (const payload of samples) expect(queue.jobID?.(queue.payload.parse(payload)) ?? '').not.toContain(':');
  }
});
