import { newID } from '#shared/core/ids.ts';
import { tokenOf } from '#shared/runs/form-links.ts';
import type { Cluster } from './cluster.ts';
import { testServers } from './environment.ts';
import {
  aDataQuery,
  aDatasource,
  aListener,
  aMember,
  anApiKey,
  anOAuthConnection,
  aRole,
  aUser,
  aWidget,
  aWorkflow,
  chain,
  type TestTenant,
} from './factories.ts';

/** A PNG of one pixel. */
export function aPNG(): Buffer {
  return Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  );
}

/** A form with one file, which is an image unless the test says otherwise. */
export function aFile(bytes: Buffer = aPNG(), { field = 'file', name = 'logo.png' } = {}): FormData {
  const form = new FormData();
  form.append(field, new Blob([new Uint8Array(bytes)]), name);
  return form;
}

/** A file that the route accepts: an image, or a table where the route wants one. */
export function fileFixture(routeName: string): FormData {
  return routeName.endsWith('/datasources/upload') ? aFile(Buffer.from('a,b\n1,2\n'), { name: 'a.csv' }) : aFile();
}

type MakeParam = (cluster: Cluster, tenant: TestTenant) => Promise<string>;

const A_CHAT = `
with session as (insert into ai_session (id, tenant_id, owner_id, chat_id) values ($1, $2, $3, $5) returning id),
  answer as (
    insert into ai_answer (id, session_id, tenant_id, is_resumable, alive_until) select $4, id, $2, true, now() from session returning id)
insert into ai_chunk (answer_id, number, tenant_id, chunks) select id, 1, $2, '[{"type": "start"}]' from answer`;

/** That has ended: nothing of it happens beside a test. */
const AN_IMPORT_JOB = `
insert into import_job (id, tenant_id, creator_id, is_planned, total, status, answer, started_at, ended_at)
values ($1, $2, $3, false, 0, 201, $4, now(), now())`;

const A_TOOL_CALL = `
insert into ai_tool_call (id, tenant_id, turn_id, number, origin, status, tool, input, input_digest, caller, shown_input, expires_at)
values ($1, $2, $1, 1, 'mcp', 'asked', 'list_folders', '{}', '', $3, '{}', now() + interval '1 hour')`;

/** An existing asset of this tenant for every parameter of every path. */
const params: Record<string, MakeParam> = {
  tenantID: async (_cluster, tenant) => tenant.id,
  // With an answer whose worker is gone, which therefore ends.
  chatID: async (cluster, tenant) => {
    const id = newID();
    await cluster.context.pool.query(A_CHAT, [id, tenant.id, tenant.creator.id, newID(), id]);
    return id;
  },
  workflowID: async (cluster, tenant) => (await aWorkflow(cluster, { tenant })).id,
  // The version belongs to the workflow that was made just before, for the same path.
  versionID: async (cluster, tenant) => {
    const { rows } = await cluster.context.pool.query<{ version_id: string }>(
      'select version_id from workflow where tenant_id = $1 order by created_at desc, id desc limit 1',
      [tenant.id],
    );
    return rows[0]?.version_id ?? newID();
  },
  webhookDatasourceID: async (cluster, tenant) =>
    (await aDatasource(cluster, { tenant, type: 'webhook', options: {} })).id,
  datasourceID: async (cluster, tenant) => (await aDatasource(cluster, { tenant })).id,
  dataQueryID: async (cluster, tenant) => (await aDataQuery(cluster, { tenant })).id,
  widgetID: async (cluster, tenant) => (await aWidget(cluster, { tenant })).id,
  libraryEntryID: async (cluster, tenant) => {
    const answer = await cluster.as(tenant.creator).in(tenant).post('T/widget-library', aLibraryEntry);
    return answer.body.entry.id;
  },
  planToken: async (cluster, tenant) => {
    const answer = await cluster.as(tenant.creator).in(tenant).post('T/import/plan', aLibraryEntry);
    return answer.body.token;
  },
  importID: async (cluster, tenant) => {
    // A second import of the same items would change nothing.
    const items = aLibraryEntry.bundle.items.map((item) => ({ ...item, id: newID() }));
    const bundle = { ...aLibraryEntry.bundle, items };
    return (await cluster.as(tenant.creator).in(tenant).post('T/import/execute', { bundle })).body.importID;
  },
  jobID: async (cluster, tenant) => {
    const id = newID();
    const answer = { success: true, importID: null, results: [], skipped: [], warnings: [], message: 'Imported' };
    await cluster.context.pool.query(AN_IMPORT_JOB, [id, tenant.id, tenant.creator.id, JSON.stringify(answer)]);
    return id;
  },
  // That waits.
  toolCallID: async (cluster, tenant) => {
    const id = newID();
    const caller = JSON.stringify({ type: 'user', id: tenant.creator.id, origin: 'direct' });
    await cluster.context.pool.query(A_TOOL_CALL, [id, tenant.id, caller]);
    return id;
  },
  listenerID: async (cluster, tenant) => (await aListener(cluster, { tenant })).id,
  pathSuffix: async (cluster, tenant) => {
    const endpointPath = `p-${newID()}`;
    await aListener(cluster, { tenant, endpointPath });
    return endpointPath;
  },
  // The action belongs to the listener that was made just before, for the same path.
  actionID: async (cluster, tenant) => {
    const id = newID();
    await cluster.context.pool.query(
      `insert into listener_action (id, tenant_id, listener_id, action_type, action_config)
       select $1, tenant_id, id, 'transform', '{"script": "return event;"}' from listener
       where tenant_id = $2 order by created_at desc, id desc limit 1`,
      [id, tenant.id],
    );
    return id;
  },
  // The event belongs to the same listener.
  eventID: async (cluster, tenant) => {
    const id = newID();
    await cluster.context.pool.query(
      `insert into listener_event (id, tenant_id, listener_id, source, state, finished_at, expires_at, error, instance_id)
       select $1, tenant_id, id, 'webhook', 'dead', now(), now() + interval '1 day', '{"code": "NOT_FOUND", "message": "a"}', $3
       from listener where tenant_id = $2 order by created_at desc, id desc limit 1`,
      [id, tenant.id, await aRun(cluster, tenant)],
    );
    return id;
  },
  // The replay is a test of the same workflow, for the event that was made just before.
  shadowID: async (cluster, tenant) => {
    const id = newID();
    await cluster.context.pool.query(
      `insert into workflow_instance (id, tenant_id, workflow_id, version_id, status, caller, deadline_at, is_test)
       select $1, i.tenant_id, i.workflow_id, i.version_id, 'RUNNING', i.caller, now() + interval '1 hour', true
       from listener_event e join workflow_instance i on i.id = e.instance_id
       where e.tenant_id = $2 order by e.received_at desc, e.id desc limit 1`,
      [id, tenant.id],
    );
    return id;
  },
  apiKeyID: async (cluster, tenant) => (await anApiKey(cluster, { tenant })).id,
  instanceID: aRun,
  // That has begun, of the run that was made just before, for the same path.
  nodeID: async (cluster, tenant) => {
    await cluster.context.pool.query(
      `insert into run_event (instance_id, seq, node_id, status)
       select id, 1, 'start', 'RUNNING' from workflow_instance where tenant_id = $1 order by created_at desc, id desc limit 1
       on conflict do nothing`,
      [tenant.id],
    );
    return 'start';
  },
  batchID: async (cluster, tenant) => {
    const { id } = await aWorkflow(cluster, { tenant });
    const api = cluster.as(tenant.creator).in(tenant);
    return (await api.post(`T/workflows/${id}/execute/bulk`, { items: [{}] })).body.batchID;
  },
  // The map belongs to the run that was made for the path.
  mapID: async (cluster, tenant) => {
    const id = newID();
    await cluster.context.pool.query(
      `insert into run_map (id, instance_id, node_id, path, attempt, plan, scope, items, chunks, concurrency, max_result_size, outcome)
       select $1, id, 'map', '0', 1, '{}', '{}', 0, 0, 1, 1, 'done' from workflow_instance where tenant_id = $2 order by id desc limit 1`,
      [id, tenant.id],
    );
    return id;
  },
  deliveryID: async (cluster, tenant) => {
    const { id: workflowID } = await aWorkflow(cluster, { tenant });
    const { rows } = await cluster.context.pool.query<{ id: string }>(
      `insert into run_delivery (instance_id, tenant_id, workflow_id, url, secret) values ($1, $2, $3, '', '') returning id`,
      [newID(), tenant.id, workflowID],
    );
    return rows[0]?.id ?? newID();
  },
  logoID: async (cluster, tenant) => {
    const answer = await cluster.as(tenant.creator).in(tenant).post('T/upload-logo', aFile(aPNG()));
    return answer.body.url.split('/').at(-1);
  },
  fileID: async (cluster, tenant) => {
    const file = aFile(Buffer.from('a,b\n1,2\n'), { name: 'a.csv' });
    const answer = await cluster.as(tenant.creator).in(tenant).post('T/datasources/upload', file);
    return answer.body.fileID;
  },
  widgetFilePath: async (cluster, tenant) => {
    const answer = await cluster
      .as(tenant.creator)
      .in(tenant)
      .post('T/widgets/upload', aFile(Buffer.from('a text')));
    return answer.body.filePath;
  },
  /** The file of a widget on the newest page. */
  pageFilePath: async (cluster, tenant) => {
    const api = cluster.as(tenant.creator).in(tenant);
    const { filePath } = (await api.post('T/widgets/upload', aFile(Buffer.from('a text')))).body;
    const { id } = await aWidget(cluster, { tenant, config: { properties: { src: filePath } } });
    const { appPageID } = (await api.get('T/app-pages?limit=1')).body.appPages[0];
    await api.patch(`T/app-pages/${appPageID}`, { appPageConfig: { widgets: [`widget_${id}_a`] } });
    return filePath;
  },
  widgetFileID: async (cluster, tenant) => {
    const answer = await cluster
      .as(tenant.creator)
      .in(tenant)
      .post('T/widgets/upload', aFile(Buffer.from('a text')));
    return answer.body.fileID;
  },
  userID: async (cluster) => (await aUser(cluster)).id,
  tenantUserID: async (cluster, tenant) => (await aMember(cluster, { tenant })).id,
  databaseSchemaName: aSchema,
  databaseTableName: async (cluster, tenant) => {
    await aSchema(cluster, tenant);
    return 'things';
  },
  databaseTriggerName: async (cluster, tenant) => {
    await aSchema(cluster, tenant);
    return 'touch';
  },
  provider: async () => 'acme',
  cronJobID: async (cluster, tenant) => {
    const { id: workflowID } = await aWorkflow(cluster, { tenant });
    const answer = await cluster
      .as(tenant.creator)
      .in(tenant)
      .post('T/cronjobs', { ...aCronJob, cronJobConfig: { workflowID } });
    return answer.body.cronJob.id;
  },
  // The backfill belongs to the job that was made just before, for the same path.
  backfillID: async (cluster, tenant) => {
    const api = cluster.as(tenant.creator).in(tenant);
    const { cronJobs } = (await api.get('T/cronjobs?limit=1')).body;
    const id = cronJobs[0]?.id ?? (await paramFixture('cronJobID')(cluster, tenant));
    const answer = await api.post(`T/cronjobs/${id}/backfills`, { from: '2026-01-01T00:00:00Z' });
    return answer.body.backfill.id;
  },
  dashboardID: async (cluster, tenant) => {
    const answer = await cluster.as(tenant.creator).in(tenant).post('T/dashboards', aDashboard);
    return answer.body.dashboard.id;
  },
  dashboardVersionID: aVersion,
  appPageID: async (cluster, tenant) => {
    const answer = await cluster.as(tenant.creator).in(tenant).post('T/app-pages', anAppPage);
    return answer.body.appPage.id;
  },
  appPageVersionID: aVersion,
  queryAlias: (cluster, tenant) => anAlias(cluster, tenant, 'query'),
  appPageInstanceID: async (cluster, tenant) => {
    const alias = await anAlias(cluster, tenant, 'workflow');
    const api = cluster.as(tenant.creator).in(tenant);
    const { appPages } = (await api.get('T/app-pages?limit=1')).body;
    return (await api.post(`T/app-pages/${appPages[0].id}/workflows/${alias}/execute`)).body.instanceID;
  },
  appPageQuestionID: async (cluster, tenant) => {
    const id = newID();
    await cluster.context.pool.query(
      `insert into collection_request (id, tenant_id, instance_id, node_id, collection_type, collection_config)
       values ($1, $2, $3, 'ask', 'form', '{"collectionType": "form"}')`,
      [id, tenant.id, await paramFixture('appPageInstanceID')(cluster, tenant)],
    );
    return id;
  },
  workflowAlias: (cluster, tenant) => anAlias(cluster, tenant, 'workflow'),
  notificationID: async (cluster, tenant) => {
    const { rows } = await cluster.context.pool.query<{ id: string }>(
      `insert into notification (tenant_id, user_id, kind, title, action, action_text)
       values ($1, $2, 'tenantJoined', 'A tenant', '..', 'Open') returning id`,
      [tenant.id, tenant.creator.id],
    );
    return rows[0]?.id ?? newID();
  },
  folderID: async (cluster, tenant) => {
    const given = { entityType: 'workflow', folderTitle: 'A folder' };
    return (await cluster.as(tenant.creator).in(tenant).post('T/folders', given)).body.folder.id;
  },
  variableID: async (cluster, tenant) => {
    const given = { name: `v_${newID().replaceAll('-', '')}`, value: 1 };
    const answer = await cluster.as(tenant.creator).in(tenant).post('T/variables', given);
    return answer.body.variable.id;
  },
  token: async (cluster, tenant) => {
    const instanceID = await aRun(cluster, tenant);
    await cluster.context.pool.query(
      `insert into collection_request (id, tenant_id, instance_id, node_id, collection_type, collection_config)
       values ($1, $2, $3, 'ask', 'form', '{"collectionType": "form", "answerByLink": true, "linkExpiryMinutes": 60}')`,
      [newID(), tenant.id, instanceID],
    );
    return tokenOf(cluster.context.runs.formLinks.urlOf({ tenantID: tenant.id, instanceID, nodeID: 'ask', path: '0' }));
  },
  oauthConnectionID: async (cluster, tenant) => (await anOAuthConnection(cluster, { tenant })).id,
  roleID: async (cluster, tenant) => (await aRole(cluster, { tenant })).id,
  collectionRequestID: async (cluster, tenant) => {
    const id = newID();
    await cluster.context.pool.query(
      `insert into collection_request (id, tenant_id, instance_id, node_id, collection_type, collection_config)
       values ($1, $2, $3, 'ask', 'form', '{}')`,
      [id, tenant.id, await aRun(cluster, tenant)],
    );
    return id;
  },
};

/** A version of the dashboard or page that was made just before, for the same path. */
async function aVersion(cluster: Cluster, tenant: TestTenant): Promise<string> {
  const { rows } = await cluster.context.pool.query<{ id: string }>(
    'select id from asset_version where tenant_id = $1 order by created_at desc, id desc limit 1',
    [tenant.id],
  );
  return rows[0]?.id ?? newID();
}

/** An alias of the page that was made just before, for the same path. */
async function anAlias(cluster: Cluster, tenant: TestTenant, type: 'query' | 'workflow'): Promise<string> {
  const api = cluster.as(tenant.creator).in(tenant);
  const { appPages } = (await api.get('T/app-pages?limit=1')).body;
  const named =
    type === 'query'
      ? { queryID: (await aDataQuery(cluster, { tenant })).id }
      : { workflowID: (await aWorkflow(cluster, { tenant })).id };
  const id = appPages[0]?.id ?? (await paramFixture('appPageID')(cluster, tenant));
  await api.patch(`T/app-pages/${id}`, { appPageConfig: { dataSources: [{ alias: 'it', type, ...named }] } });
  return 'it';
}

/** A schema with a table and a trigger in the database of the tenant; no other tenant's has one of this name. */
async function aSchema(cluster: Cluster, tenant: TestTenant): Promise<string> {
  const schema = `shop_${tenant.id.slice(-12)}`;
  const sql = `
    create schema if not exists ${schema};
    create table if not exists ${schema}.things (id int primary key, note text);
    create or replace function public.touch() returns trigger language plpgsql as $$ begin return new; end $$;
    create or replace trigger touch before insert on ${schema}.things for each row execute function public.touch()`;
  const answer = await cluster.as(tenant.creator).in(tenant).post('T/database/execute-raw-sql', { sql });
  if (answer.status !== 200) throw new Error(`No schema: ${JSON.stringify(answer.body)}`);
  return schema;
}

/** A malformed value for a parameter: most are ids, and almost any text is a name. */
export function malformedFixture(name: string): string {
  if (name === 'provider' || name === 'chatID') return 'Not A Name';
  if (name.endsWith('Alias') || name === 'nodeID') return 'x'.repeat(256);
  return name.startsWith('database') ? 'x'.repeat(64) : 'not-an-id';
}

/** The operator that the body of a login names. */
export const loginFixture = { email: 'operator@example.test', password: 'correct horse battery' };

/** A text that is a name in braces is an id, made for the tenant as the parameter of that name is. */
const aQuery = {
  dataQueryTitle: 'A data query',
  datasourceID: '{datasourceID}',
  dataQueryOptions: { query: 'select 1 as n' },
};

const theServer = { connectionOption: 'connectionString', connectionString: testServers.datasourceURL };

const aDashboard = { dashboardTitle: 'A dashboard', dashboardConfig: { widgets: [] } };
const anAppPage = { appPageTitle: 'An app page', appPageConfig: { dataSources: [] } };

/** Due on a leap day. */
const aCronJob = { cronJobTitle: 'A cron job', cronJobSchedule: '0 0 29 2 *', cronJobType: 'workflow' };

const aLibraryEntry = {
  bundle: {
    bundleVersion: 1,
    items: [
      { type: 'widget', id: newID(), payload: { widgetTitle: 'A widget', widgetType: 'table', widgetConfig: {} } },
    ],
  },
};

/** An accepted body for every route that does not accept an empty one. */
const bodies: Record<string, unknown> = {
  'put /api/v1/tenants/:tenantID/tool-approval-policy': { policy: 'destructive' },
  'post /api/v1/auth/config/:tenantID': { config: { theme: 'dark' } },
  'patch /api/v1/tenants/dbtest': { tenantDBURL: testServers.datasourceURL },
  'post /api/v1/operator/auth/login': loginFixture,
  'patch /api/v1/operator/users/:userID': { isDisabled: true },
  'post /api/v1/tenants/:tenantID/database/execute-raw-sql': { sql: 'select 1 as one' },
  'post /api/v1/tenants/:tenantID/database/schemas': { schemaName: 'another' },
  'post /api/v1/tenants/:tenantID/database/schemas/:databaseSchemaName/tables': {
    databaseTableName: 'more',
    columns: [{ databaseTableColumnName: 'id', databaseTableColumnType: 'integer', primaryKey: true }],
  },
  'post /api/v1/tenants/:tenantID/database/schemas/:databaseSchemaName/triggers': {
    databaseTableName: 'things',
    databaseTriggerName: 'touch_again',
    triggerTiming: 'BEFORE',
    triggerEvents: 'UPDATE',
    triggerFunction: 'public.touch',
  },
  'post /api/v1/tenants/:tenantID/database/schemas/:databaseSchemaName/tables/:databaseTableName/rows': {
    databaseTableRowData: [{ id: 1, note: 'one' }],
  },
  'patch /api/v1/tenants/:tenantID/database/schemas/:databaseSchemaName/tables/:databaseTableName/rows': {
    databaseTableRowData: [{ data: { note: 'two' }, where: { id: { '=': 1 } } }],
  },
  'patch /api/v1/tenants/:tenantID/database/schemas/:databaseSchemaName/tables/:databaseTableName/rows/delete': {
    where: { id: { '=': 1 } },
  },
  'post /api/v1/operator/roles': { roleName: 'A role', rolePermissions: ['workflow.read'] },
  'post /api/v1/tenants': { tenantTitle: 'A tenant' },
  'post /api/v1/tenants/:tenantID/apikeys': { apiKeyName: 'A key', apiKeyPermissions: ['workflow.read'] },
  'post /api/v1/tenants/:tenantID/datasources': {
    datasourceTitle: 'A datasource',
    datasourceType: 'postgresql',
    datasourceOptions: theServer,
  },
  'post /api/v1/tenants/:tenantID/datasources/test': { datasourceType: 'postgresql', datasourceOptions: theServer },
  'post /api/v1/tenants/:tenantID/queries': aQuery,
  'post /api/v1/tenants/:tenantID/queries/bulk': [aQuery, aQuery],
  'patch /api/v1/tenants/:tenantID/queries/queryTest': { dataQuery: aQuery },
  'post /api/v1/tenants/:tenantID/workflows/:workflowID/execute/bulk': { items: [{ args: { a: 1 } }] },
  'post /api/v1/tenants/:tenantID/workflows/batches/rerun': { filter: { errorCode: 'NODE_FAILED' } },
  'post /api/v1/tenants/:tenantID/workflows/batches/cancel': { filter: { tag: 'a' } },
  'post /api/v1/tenants/:tenantID/workflows/events': { name: 'paid', key: 'order-1' },
  'post /api/v1/tenants/:tenantID/listeners': {
    listenerTitle: 'A listener',
    datasourceID: '{webhookDatasourceID}',
    endpointPath: 'orders/:orderID',
  },
  'post /api/v1/tenants/:tenantID/listeners/:listenerID/actions': {
    actionType: 'transform',
    actionConfig: { script: 'return event;' },
  },
  'post /api/v1/tenants/:tenantID/workflows': { title: 'A workflow', ...chain() },
  'post /api/v1/tenants/:tenantID/workflows/test': chain(),
  'patch /api/v1/tenants/:tenantID/workflows/:workflowID/versions/:versionID': { label: 'First' },
  'post /api/v1/tenants/:tenantID/workflows/data-collection/:collectionRequestID/submit': { submittedData: { a: 1 } },
  'post /api/v1/tenants/:tenantID/app-pages/:appPageID/questions/:appPageQuestionID/submit': {
    submittedData: { a: 1 },
  },
  'post /api/v1/tenants/:tenantID/cronjobs': { ...aCronJob, cronJobConfig: { workflowID: '{workflowID}' } },
  'post /api/v1/tenants/:tenantID/cronjobs/:cronJobID/backfills': { from: '2026-01-01T00:00:00Z' },
  'post /api/v1/tenants/:tenantID/cronjobs/preview': { cronJobSchedule: '0 9 * * *' },
  'post /api/v1/forms/:token': { submittedData: { a: 1 } },
  'post /api/v1/forms/:token/page': { answer: '{"a":1}' },
  'post /api/v1/tenants/:tenantID/dashboards': aDashboard,
  'post /api/v1/tenants/:tenantID/app-pages': anAppPage,
  'patch /api/v1/tenants/:tenantID/audit/retention': { days: 30 },
  'post /api/v1/tenants/:tenantID/folders': { entityType: 'workflow', folderTitle: 'A folder' },
  'post /api/v1/tenants/:tenantID/folders/move': { entityType: 'workflow', entityIDs: ['{workflowID}'] },
  'post /api/v1/tenants/:tenantID/widgets': { widgetTitle: 'A widget', widgetType: 'table', widgetConfig: {} },
  'post /api/v1/tenants/:tenantID/widget-library': aLibraryEntry,
  'post /api/v1/operator/widget-library': aLibraryEntry,
  'post /api/v1/tenants/:tenantID/widgets/data/bulk': { widgets: [{ widgetID: '{widgetID}' }] },
  'post /api/v1/tenants/:tenantID/export': { items: [{ type: 'widget', id: '{widgetID}' }] },
  'post /api/v1/tenants/:tenantID/import/preview': aLibraryEntry,
  'post /api/v1/tenants/:tenantID/import/execute': aLibraryEntry,
  'post /api/v1/tenants/:tenantID/import/jobs': aLibraryEntry,
  'post /api/v1/tenants/:tenantID/import/plan': aLibraryEntry,
  'post /api/v1/tenants/:tenantID/import/apply': { ...aLibraryEntry, token: '{planToken}' },
  'patch /api/v1/tenants/:tenantID/queries/aigenerate': { aiPrompt: 'Open orders' },
  'post /api/v1/tenants/:tenantID/ai/chat/stream': { id: 'a-chat', messages: [{ role: 'user', content: 'Hello' }] },
  'post /api/v1/tenants/:tenantID/workflows/check': { workflowNodes: [], workflowEdges: [] },
  'post /api/v1/tenants/:tenantID/workflows/aigenerate': { aiPrompt: 'Do nothing' },
  'post /api/v1/tenants/:tenantID/variables': { name: 'shopToken', value: 'a token', isSecret: true },
  'post /api/v1/tenants/:tenantID/users': { userEmail: 'somebody@example.test' },
  'patch /api/v1/tenants/:tenantID/users/:tenantUserID/roles': { roleIDs: [] },
  'post /api/v1/tenants/:tenantID/roles': { roleName: 'A role', rolePermissions: ['workflow.read'] },
};

/** Query strings that routes require. */
const queries: Record<string, string> = {
  'delete /api/v1/tenants/:tenantID/database/schemas/:databaseSchemaName': '?cascade=true',
  'get /api/v1/tenants/:tenantID/ai/chat/session': '?id=a-chat',
  'get /api/v1/tenants/:tenantID/folders': '?entityType=workflow',
  'get /api/v1/tenants/:tenantID/search': '?q=a',
  'get /api/v1/tenants/:tenantID/widgets/files': '?path={widgetFilePath}',
  'get /api/v1/tenants/:tenantID/app-pages/:appPageID/files': '?path={pageFilePath}',
  'post /api/v1/tenants/:tenantID/listeners/:listenerID/events/:eventID/shadow-replay': '?wait=0',
  // The run of the fixture does not end.
  'get /api/v1/tenants/:tenantID/workflows/instances/:instanceID/stream': '?seconds=0',
};

/** A name that is not among the parameters names no asset. */
export function queryFixture(routeName: string, params: Record<string, string> = {}): string {
  const none = `widget-files/${newID()}/${newID()}`;
  return (queries[routeName] ?? '').replace(/\{(\w+)\}/g, (_match, name: string) =>
    encodeURIComponent(params[name] ?? none),
  );
}

/** The parameters that the query of a route names beside those of its path. */
export function paramsInQuery(name: string): string[] {
  return [...(queries[name] ?? '').matchAll(/\{(\w+)\}/g)].map(([, param = '']) => param);
}

export function paramFixture(name: string): MakeParam {
  const make = params[name];
  if (!make)
    throw new Error(`The path parameter "${name}" has no fixture: give it one in test/support/route-fixtures.ts`);
  return make;
}

/** The parameters that the body of a route names beside those of its path. */
export function paramsInBody(name: string): string[] {
  return [...JSON.stringify(bodies[name] ?? {}).matchAll(IN_BRACES)].map(([, param = '']) => param);
}

const IN_BRACES = /"\{(\w+)\}"/g;

/** A name that is not among the parameters names no asset. */
export function bodyFixture(
  route: { name: string; takes(body: unknown): boolean },
  params: Record<string, string> = {},
): unknown {
  const text = JSON.stringify(bodies[route.name] ?? {});
  const body = JSON.parse(text.replace(IN_BRACES, (_match, name: string) => JSON.stringify(params[name] ?? newID())));
  if (!route.takes(body))
    throw new Error(`"${route.name}" wants a body that will do: give it one in test/support/route-fixtures.ts`);
  return body;
}

async function aRun(cluster: Cluster, tenant: TestTenant): Promise<string> {
  const workflow = await aWorkflow(cluster, { tenant });
  const { instanceID } = await cluster.context.runs.accept({
    tenantID: tenant.id,
    workflowID: workflow.id,
    versionID: workflow.versionID,
    caller: { type: 'user', id: tenant.creator.id, userID: tenant.creator.id, origin: 'direct' },
    input: {},
    timeoutMs: 3_600_000,
  });
  return instanceID;
}
