import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { routes } from '#api/app/routes.ts';
import type { Route } from '#api/http/route/route.ts';
import { type AIProviderServer, startAIProvider } from '../servers/ai-provider.ts';
import { redisURL } from '../support/backplane.ts';
import { type Client, lenient } from '../support/client.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { anOperator, aTenant, type TestTenant } from '../support/factories.ts';
import { callRoute, makeParams, nameOf, permittedClient, queuesOfRoutes } from '../support/route-calls.ts';
import { loginFixture } from '../support/route-fixtures.ts';
import { sample } from '../support/sample.ts';

/** Rules for every endpoint, also for new ones: the cases are derived from the table of routes. */
let cluster: Cluster;
let provider: AIProviderServer;

beforeAll(async () => {
  provider = await startAIProvider();
  cluster = await startCluster({
    settings: provider.settings,
    workers: queuesOfRoutes,
  });
  await anOperator(cluster, loginFixture);
});

afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

test('no two routes are the same', () => {
  expect(new Set(routes.map(nameOf)).size).toBe(routes.length);
});

test('a path of fixed words is not hidden by a path with an id', () => {
  for (const [index, { method, path }] of routes.entries()) {
    const pattern = new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`);
    const hidden = routes.slice(index + 1).filter((later) => later.method === method && pattern.test(later.path));
    expect(hidden.map(nameOf)).toEqual([]);
  }
});

test('every route that creates takes an Idempotency-Key, or is listed with a reason', () => {
  const without = routes.filter(({ method, idempotent }) => method === 'post' && !idempotent).map(nameOf);
  expect(without.sort()).toEqual(Object.keys(reasonsWithoutKey).sort());
});

const cases = routes.map((route) => [nameOf(route), route] as const);

describe.each([...sample(cases, { name: `route on ${redisURL ? 'redis' : 'postgres'}`, oneOf: 4 })])(
  '%s',
  (_name, route) => {
    test('answers a permitted caller in the declared schema, and records what it changes', async () => {
      const own = await aTenant(cluster);
      const client = await permittedClient(cluster, route, own);
      const params = await makeParams(cluster, route, own);
      await madeDifferent[nameOf(route)]?.(client.in(own), params);

      const answer = await callRoute(client, route, params, { body: changing[nameOf(route)] });

      if (route.realm === 'tenant' && route.method !== 'get')
        expect((await changedBy(route, own)) > 0).toBe(!Object.hasOwn(changingNoAsset, nameOf(route)));
      if (route.status === 302) {
        expect({ status: answer.status, goesTo: answer.headers.get('location') }).toEqual({
          status: 302,
          goesTo: expect.stringMatching(/^https:/),
        });
        return;
      }
      if (route.produces) {
        expect(answer.status).toBe(200);
        expect(answer.headers.get('content-type')).toContain(route.produces.replace('*', ''));
        return;
      }
      expect(answer).toMatchObject({ status: route.status ?? 200, body: { success: true } });
      const { success, ...fields } = answer.body;
      // Parsing again drops nothing: the answer has no undeclared field.
      expect(route.response.parse(fields)).toEqual(fields);

      if (route.method !== 'get') return;
      const { body } = await callRoute(client, route, params, { query: 'orderBy=title', headers: lenient });
      expect(body.unknownFields).toEqual([{ path: ['orderBy'], message: expect.stringContaining('not known here') }]);
    });
  },
);

/** How many changes of assets the last request of a route has in the audit trail. */
async function changedBy({ name }: Route, { id }: TestTenant): Promise<number> {
  const { rows } = await cluster.pool.query<{ n: number }>(
    `select count(c.id)::int as n from (
       select id from audit_record where tenant_id = $1 and kind = 'entry' and details -> 'request' ->> 'operation' = $2
       order by seq desc limit 1) e
     left join audit_record c on c.entry_id = e.id and c.kind = 'change'`,
    [id, name],
  );
  return rows[0]?.n ?? 0;
}

const secretAnswer = 'its answer has a secret that is not stored';
const upload = 'the file is no part of what a key is compared by';
const startsNothing = 'nothing is created, and nothing goes on after the answer';
const changesOnce = 'repeating it changes nothing more';

/** Bodies with a change, for routes that accept an empty one or what the fixture is already. */
const changing: Record<string, object> = {
  'patch /api/v1/tenants/:tenantID': { tenantTitle: 'Other' },
  'patch /api/v1/tenants/:tenantID/dispatch': { maxRuns: 5 },
  'patch /api/v1/tenants/:tenantID/retention': { days: 5 },
  'patch /api/v1/tenants/:tenantID/workflows/:workflowID/retention': { days: 5 },
  'patch /api/v1/tenants/:tenantID/apikeys/:apiKeyID': { apiKeyName: 'Other' },
  'put /api/v1/tenants/:tenantID/apikeys/:apiKeyID': { apiKeyName: 'Other' },
  'patch /api/v1/tenants/:tenantID/app-pages/:appPageID': { appPageTitle: 'Other' },
  'patch /api/v1/tenants/:tenantID/cronjobs/:cronJobID': { cronJobTitle: 'Other' },
  'patch /api/v1/tenants/:tenantID/dashboards/:dashboardID': { dashboardTitle: 'Other' },
  'patch /api/v1/tenants/:tenantID/datasources/:datasourceID': { datasourceTitle: 'Other' },
  'patch /api/v1/tenants/:tenantID/folders/:folderID': { folderTitle: 'Other' },
  'patch /api/v1/tenants/:tenantID/listeners/:listenerID': { listenerTitle: 'Other' },
  'put /api/v1/tenants/:tenantID/listeners/:listenerID': { listenerTitle: 'Other' },
  'put /api/v1/tenants/:tenantID/listeners/:listenerID/actions/:actionID': { actionConfig: { script: 'return 1;' } },
  'patch /api/v1/tenants/:tenantID/queries/:dataQueryID': { dataQueryTitle: 'Other' },
  'patch /api/v1/tenants/:tenantID/roles/:roleID': { roleName: 'Other' },
  'patch /api/v1/tenants/:tenantID/users/:tenantUserID/roles': { roleIDs: [], userTenantRelationship: 'ADMIN' },
  'patch /api/v1/tenants/:tenantID/variables/:variableID': { value: 'other' },
  'post /api/v1/tenants/:tenantID/ai-config': { maxCalls: 2 },
  'patch /api/v1/tenants/:tenantID/ai-config': { maxCalls: 2 },
  'put /api/v1/tenants/:tenantID/ai-config': { maxCalls: 2 },
  'patch /api/v1/tenants/:tenantID/widgets/:widgetID': { widgetTitle: 'Other' },
  'patch /api/v1/tenants/:tenantID/workflows/:workflowID': { title: 'Other' },
};

const inFolder = { entityType: 'workflow', folderTitle: 'Full' };
const otherGraph = { workflowNodes: [{ id: 'start', type: 'start', data: {} }], workflowEdges: [] };

/** Changes the fixture so that it differs from what the route makes of it, which would change nothing else. */
const madeDifferent: Record<string, (api: Client, params: Record<string, string>) => Promise<unknown>> = {
  'delete /api/v1/tenants/:tenantID/ai-config': (api) => api.post('T/ai-config', { maxCalls: 2 }),
  'post /api/v1/tenants/:tenantID/listeners/:listenerID/activate': (api, { listenerID }) =>
    api.post(`T/listeners/${listenerID}/deactivate`),
  'post /api/v1/tenants/:tenantID/folders/move': async (api, { workflowID }) => {
    const { folder } = (await api.post('T/folders', inFolder)).body;
    await api.post('T/folders/move', { entityType: 'workflow', entityIDs: [workflowID], folderID: folder.id });
  },
  'post /api/v1/tenants/:tenantID/cronjobs/:cronJobID/resume': (api, { cronJobID }) =>
    api.post(`T/cronjobs/${cronJobID}/pause`),
  'post /api/v1/tenants/:tenantID/workflows/:workflowID/resume': (api, { workflowID }) =>
    api.post(`T/workflows/${workflowID}/pause`),
  'post /api/v1/tenants/:tenantID/intake/resume': (api) => api.post('T/intake/pause'),
  'post /api/v1/tenants/:tenantID/workflows/:workflowID/versions/:versionID/publish': (api, { workflowID }) =>
    api.patch(`T/workflows/${workflowID}`, otherGraph),
  'post /api/v1/tenants/:tenantID/workflows/:workflowID/versions/:versionID/restore': (api, { workflowID }) =>
    api.patch(`T/workflows/${workflowID}`, otherGraph),
  'post /api/v1/tenants/:tenantID/dashboards/:dashboardID/versions/:dashboardVersionID/restore': (
    api,
    { dashboardID },
  ) => api.patch(`T/dashboards/${dashboardID}`, { dashboardTitle: 'Other' }),
  'post /api/v1/tenants/:tenantID/app-pages/:appPageID/versions/:appPageVersionID/restore': (api, { appPageID }) =>
    api.patch(`T/app-pages/${appPageID}`, { appPageTitle: 'Other' }),
};

const ofRuns = 'runs are not assets: they have a history of their own';
const ofDatabase = 'the entry has the statement; the database is not ours';
const ofChats = 'chats are not assets: they belong to one user';
const ofEvents = 'events are not assets: they have states of their own';

const changingNoAsset: Record<string, string> = {
  'post /api/v1/tenants/:tenantID/tool-approvals/:toolCallID/approve': 'the decision is in the row of the call',
  'post /api/v1/tenants/:tenantID/tool-approvals/:toolCallID/refuse': 'the decision is in the row of the call',
  'delete /api/v1/tenants/:tenantID': 'its trail is deleted with the tenant',
  'post /api/v1/tenants/:tenantID/roles/sync-policies': 'rules are derived from roles',
  'post /api/v1/tenants/:tenantID/datasources/test': startsNothing,
  'post /api/v1/tenants/:tenantID/datasources/:datasourceID/test': startsNothing,
  'patch /api/v1/tenants/:tenantID/queries/queryTest': startsNothing,
  'patch /api/v1/tenants/:tenantID/queries/aigenerate': startsNothing,
  'post /api/v1/tenants/:tenantID/queries/:dataQueryID/queryTest': startsNothing,
  'post /api/v1/tenants/:tenantID/queries/:dataQueryID/run': startsNothing,
  'post /api/v1/tenants/:tenantID/widgets/data': startsNothing,
  'post /api/v1/tenants/:tenantID/widgets/data/bulk': startsNothing,
  'post /api/v1/tenants/:tenantID/widget-library/:libraryEntryID/preview': startsNothing,
  'post /api/v1/tenants/:tenantID/export': startsNothing,
  'post /api/v1/tenants/:tenantID/import/preview': startsNothing,
  'post /api/v1/tenants/:tenantID/import/plan': startsNothing,
  'post /api/v1/tenants/:tenantID/import/jobs': 'the request of the job is recorded as one that changes them',
  'post /api/v1/tenants/:tenantID/import/:importID/rollback/jobs':
    'the request of the job is recorded as one that changes them',
  'post /api/v1/tenants/:tenantID/cronjobs/preview': startsNothing,
  'post /api/v1/tenants/:tenantID/workflows/:workflowID/plan': startsNothing,
  'post /api/v1/tenants/:tenantID/workflows/check': startsNothing,
  'post /api/v1/tenants/:tenantID/workflows/aigenerate': startsNothing,
  'post /api/v1/tenants/:tenantID/ai/chat/stream': ofChats,
  'delete /api/v1/tenants/:tenantID/ai/chat/session': ofChats,
  'delete /api/v1/tenants/:tenantID/ai/chat/stream/:chatID/stream': ofChats,
  'post /api/v1/tenants/:tenantID/ai-config/test': startsNothing,
  'post /api/v1/tenants/:tenantID/app-pages/:appPageID/queries/:queryAlias/run': startsNothing,
  'post /api/v1/tenants/:tenantID/app-pages/:appPageID/data': startsNothing,
  'post /api/v1/tenants/:tenantID/app-pages/:appPageID/workflows/:workflowAlias/execute': ofRuns,
  'post /api/v1/tenants/:tenantID/workflows/:workflowID/execute': ofRuns,
  'post /api/v1/tenants/:tenantID/workflows/:workflowID/execute/bulk': ofRuns,
  'post /api/v1/tenants/:tenantID/workflows/events': ofRuns,
  'post /api/v1/tenants/:tenantID/workflows/batches/cancel': ofRuns,
  'post /api/v1/tenants/:tenantID/workflows/batches/rerun': ofRuns,
  'post /api/v1/tenants/:tenantID/workflows/instances/:instanceID/rerun': ofRuns,
  'post /api/v1/tenants/:tenantID/workflows/instances/:instanceID/rerun/preview': startsNothing,
  'post /api/v1/tenants/:tenantID/workflows/data-collection/:collectionRequestID/submit': ofRuns,
  'post /api/v1/tenants/:tenantID/app-pages/:appPageID/questions/:appPageQuestionID/submit': ofRuns,
  'post /api/v1/tenants/:tenantID/workflows/deliveries/:deliveryID/redeliver': ofRuns,
  'delete /api/v1/tenants/:tenantID/workflows/instances/:instanceID/stop': ofRuns,
  'delete /api/v1/tenants/:tenantID/workflows/batches/:batchID/stop': ofRuns,
  'post /api/v1/tenants/:tenantID/cronjobs/:cronJobID/backfills': ofRuns,
  'delete /api/v1/tenants/:tenantID/cronjobs/:cronJobID/backfills/:backfillID/stop': ofRuns,
  'post /api/v1/tenants/:tenantID/database/execute-raw-sql': ofDatabase,
  'post /api/v1/tenants/:tenantID/database/schemas': ofDatabase,
  'delete /api/v1/tenants/:tenantID/database/schemas/:databaseSchemaName': ofDatabase,
  'post /api/v1/tenants/:tenantID/database/schemas/:databaseSchemaName/tables': ofDatabase,
  'patch /api/v1/tenants/:tenantID/database/schemas/:databaseSchemaName/tables/:databaseTableName': ofDatabase,
  'delete /api/v1/tenants/:tenantID/database/schemas/:databaseSchemaName/tables/:databaseTableName': ofDatabase,
  'post /api/v1/tenants/:tenantID/database/schemas/:databaseSchemaName/tables/:databaseTableName/rows': ofDatabase,
  'patch /api/v1/tenants/:tenantID/database/schemas/:databaseSchemaName/tables/:databaseTableName/rows': ofDatabase,
  'patch /api/v1/tenants/:tenantID/database/schemas/:databaseSchemaName/tables/:databaseTableName/rows/delete':
    ofDatabase,
  'patch /api/v1/tenants/:tenantID/database/schemas/:databaseSchemaName/tables/:databaseTableName/rows/export':
    ofDatabase,
  'post /api/v1/tenants/:tenantID/database/schemas/:databaseSchemaName/triggers': ofDatabase,
  'delete /api/v1/tenants/:tenantID/database/schemas/:databaseSchemaName/triggers/:databaseTableName/:databaseTriggerName':
    ofDatabase,
  'post /api/v1/tenants/:tenantID/listeners/:listenerID/events/redrive': ofEvents,
  'post /api/v1/tenants/:tenantID/listeners/:listenerID/events/purge': ofEvents,
  'post /api/v1/tenants/:tenantID/listeners/:listenerID/events/:eventID/redrive': ofEvents,
  'post /api/v1/tenants/:tenantID/listeners/:listenerID/test-delivery': ofEvents,
  'post /api/v1/tenants/:tenantID/listeners/:listenerID/events/:eventID/replay': ofEvents,
  'post /api/v1/tenants/:tenantID/listeners/:listenerID/events/:eventID/shadow-replay': ofEvents,
};

const reasonsWithoutKey: Record<string, string> = {
  'post /api/v1/tenants/:tenantID/tool-approvals/:toolCallID/approve': 'a call is decided once',
  'post /api/v1/tenants/:tenantID/tool-approvals/:toolCallID/refuse': 'a call is decided once',
  'post /api/v1/tenants/:tenantID/apikeys': secretAnswer,
  'post /api/v1/tenants/:tenantID/apikeys/:apiKeyID/clone': secretAnswer,
  'post /api/v1/operator/auth/login': secretAnswer,
  'post /api/v1/tenants/:tenantID/datasources/upload': upload,
  'post /api/v1/tenants/:tenantID/widgets/upload': upload,
  'post /api/v1/tenants/:tenantID/upload-logo': upload,
  'post /api/v1/auth/config/:tenantID': startsNothing,
  'post /api/v1/notifications/:notificationID/read': changesOnce,
  'post /api/v1/operator/auth/logout': startsNothing,
  'post /api/v1/tenants/:tenantID/datasources/test': startsNothing,
  'post /api/v1/tenants/:tenantID/datasources/:datasourceID/test': startsNothing,
  'post /api/v1/tenants/:tenantID/queries/:dataQueryID/queryTest': startsNothing,
  'post /api/v1/tenants/:tenantID/widgets/data': startsNothing,
  'post /api/v1/tenants/:tenantID/widget-library/:libraryEntryID/preview': startsNothing,
  'post /api/v1/tenants/:tenantID/widgets/data/bulk': startsNothing,
  'post /api/v1/tenants/:tenantID/app-pages/:appPageID/data': startsNothing,
  'post /api/v1/tenants/:tenantID/roles/sync-policies': startsNothing,
  'post /api/v1/tenants/:tenantID/export': startsNothing,
  'post /api/v1/tenants/:tenantID/import/preview': startsNothing,
  'post /api/v1/tenants/:tenantID/workflows/instances/:instanceID/rerun/preview': startsNothing,
  'post /api/v1/tenants/:tenantID/import/plan': startsNothing,
  'post /api/v1/tenants/:tenantID/listeners/:listenerID/events/redrive':
    'repeated, it finds no event in that state any more',
  'post /api/v1/tenants/:tenantID/listeners/:listenerID/events/purge':
    'repeated, it finds no event in that state any more',
  'post /api/v1/tenants/:tenantID/workflows/data-collection/:collectionRequestID/submit': 'the first answer counts',
  'post /api/v1/tenants/:tenantID/app-pages/:appPageID/questions/:appPageQuestionID/submit': 'the first answer counts',
  'post /api/v1/tenants/:tenantID/listeners/:listenerID/test-delivery':
    'each is a delivery of its own, as those of senders are',
  'post /webhooks/v1/inbound/:tenantID/:pathSuffix':
    'the sender has no identity; the listener says what makes two deliveries one',
  'post /webhooks/v1/inbound/:listenerID':
    'the sender has no identity; the listener says what makes two deliveries one',
  'post /api/v1/tenants/:tenantID/dashboards/:dashboardID/versions/:dashboardVersionID/restore': changesOnce,
  'post /api/v1/tenants/:tenantID/app-pages/:appPageID/versions/:appPageVersionID/restore': changesOnce,
  'post /api/v1/tenants/:tenantID/listeners/:listenerID/activate': changesOnce,
  'post /api/v1/tenants/:tenantID/listeners/:listenerID/deactivate': changesOnce,
  'post /api/v1/forms/:token': 'the first answer counts',
  'post /api/v1/forms/:token/page': 'the first answer counts',
  'post /api/v1/tenants/:tenantID/workflows/deliveries/:deliveryID/redeliver':
    'until it is sent, once more changes nothing',
  'post /api/v1/tenants/:tenantID/intake/pause': changesOnce,
  'post /api/v1/tenants/:tenantID/intake/resume': changesOnce,
  'post /api/v1/tenants/:tenantID/ai-config': changesOnce,
  'post /api/v1/tenants/:tenantID/ai/chat/stream': 'a message that is sent again takes its own place',
  'post /api/v1/tenants/:tenantID/workflows/check': startsNothing,
  'post /api/v1/tenants/:tenantID/workflows/aigenerate': startsNothing,
  'post /api/v1/tenants/:tenantID/ai-config/test': startsNothing,
  'post /api/v1/tenants/:tenantID/cronjobs/preview': startsNothing,
  'post /api/v1/tenants/:tenantID/cronjobs/:cronJobID/pause': changesOnce,
  'post /api/v1/tenants/:tenantID/cronjobs/:cronJobID/resume': changesOnce,
  'post /api/v1/tenants/:tenantID/workflows/:workflowID/plan': startsNothing,
  'post /api/v1/tenants/:tenantID/workflows/:workflowID/pause': changesOnce,
  'post /api/v1/tenants/:tenantID/workflows/:workflowID/resume': changesOnce,
  'post /api/v1/tenants/:tenantID/workflows/:workflowID/versions/:versionID/publish': changesOnce,
  'post /api/v1/tenants/:tenantID/workflows/:workflowID/versions/:versionID/restore': changesOnce,
};
