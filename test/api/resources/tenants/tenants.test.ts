import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { deleteTenant, resumeDeletions } from '#shared/tenants/delete-tenant.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import {
  aDatasource,
  aListener,
  aMember,
  anApiKey,
  anOAuthConnection,
  aRole,
  aTenant,
  aUser,
  aWorkflow,
  type TestTenant,
} from '../../../support/factories.ts';
import { aFile } from '../../../support/route-fixtures.ts';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({ workers: false });
});

afterAll(() => cluster[Symbol.asyncDispose]());

test('the creator of a tenant is its admin and has every permission in it', async () => {
  const user = await aUser(cluster);

  const created = await cluster
    .as(user)
    .post('/api/v1/tenants', { tenantTitle: 'Mine', tenantDescription: 'all of it' });
  const { id } = created.body.tenant;
  const read = await cluster.as(user).in({ id }).get('T/');
  const workflow = await cluster.as(user).in({ id }).post('T/workflows', { title: 'First' });

  expect(created.status).toBe(201);
  expect(created.body.tenant).toMatchObject({
    tenantTitle: 'Mine',
    tenantDescription: 'all of it',
    creatorID: user.id,
  });
  expect(read.body.tenant).toMatchObject({ id, tenantUserCount: 1, tenantWorkflowCount: 0 });
  expect(workflow.status).toBe(201);
});

test("the list holds the tenants of the caller, newest first, with the caller's role", async () => {
  const user = await aUser(cluster);
  const own = await aTenant(cluster, { creator: user });
  const other = await aTenant(cluster);
  await aMember(cluster, { tenant: other, user });
  await aTenant(cluster);

  const { body } = await cluster.as(user).get('/api/v1/tenants');

  expect(body.tenants.map(({ id, role }: { id: string; role: string }) => [id, role])).toEqual([
    [other.id, 'MEMBER'],
    [own.id, 'ADMIN'],
  ]);
  expect(body).toMatchObject({ totalCount: 2, totalPages: 1, page: 1 });
});

test('pages and cursors return the same list', async () => {
  const user = await aUser(cluster);
  for (let n = 0; n < 5; n += 1) await aTenant(cluster, { creator: user });
  const api = cluster.as(user);
  const idsOf = (body: { tenants: { id: string }[] }) => body.tenants.map(({ id }) => id);
  const all = idsOf((await api.get('/api/v1/tenants')).body);

  const pages = [];
  for (const page of [1, 2, 3]) pages.push(...idsOf((await api.get(`/api/v1/tenants?pageSize=2&page=${page}`)).body));
  const steps = [];
  for (let cursor = ''; ; ) {
    const { body } = await api.get(`/api/v1/tenants?limit=2${cursor && `&cursor=${cursor}`}`);
    steps.push(...idsOf(body));
    if (body.nextCursor === null) break;
    cursor = body.nextCursor;
  }

  expect(all).toHaveLength(5);
  expect(pages).toEqual(all);
  expect(steps).toEqual(all);
});

test('an update keeps the fields it does not mention and clears those that are null', async () => {
  const tenant = await aTenant(cluster, { tenantTitle: 'Before' });
  const api = cluster.as(tenant.creator).in(tenant);

  await api.patch('T/', { tenantDescription: 'words' });
  const renamed = await api.patch('T/', { tenantTitle: 'After' });
  const cleared = await api.patch('T/', { tenantDescription: null });

  expect(renamed.body.tenant).toMatchObject({ tenantTitle: 'After', tenantDescription: 'words' });
  expect(cleared.body.tenant).toMatchObject({ tenantTitle: 'After', tenantDescription: null });
});

test('a title must have 1 to 255 characters', async () => {
  const api = cluster.as(await aUser(cluster));

  for (const tenantTitle of ['', 'x'.repeat(256), 7, null, undefined])
    expect((await api.post('/api/v1/tenants', { tenantTitle })).status).toBe(400);
});

test('deleting a tenant deletes its rows in every table but that of what its listeners have left at servers', async () => {
  const tenant = await aFullTenant();
  const api = cluster.as(tenant.creator).in(tenant);

  const deleted = await api.delete('T/');

  expect(deleted).toMatchObject({ status: 200, body: { success: true, message: expect.any(String) } });
  expect(await rowsOf(tenant.id)).toEqual(LEFT);
  expect((await api.get('T/')).status).toBe(403);
  expect((await cluster.as(tenant.creator).get('/api/v1/tenants')).body.tenants).toEqual([]);
});

test('another tenant keeps all of its rows', async () => {
  const [kept, gone] = [await aFullTenant(), await aFullTenant()];
  const before = await rowsOf(kept.id);
  // A new table needs a row in `aFullTenant`, so that these tests see it emptied. The next dispatch empties `freed_key`.
  const tables = (await tenantTables()).filter((name) => name !== 'freed_key');
  expect(Object.keys(before).sort()).toEqual(['tenant', ...tables].sort());

  await deleteTenant(cluster.context.pool, cluster.context.runs, gone.id);

  // Outcomes of its requests are stored meanwhile.
  expect(await rowsOf(kept.id)).toEqual({ ...before, audit_record: expect.any(Number) });
});

test('deletes a tenant with many rows, and cancels its runs in flight', async () => {
  const tenant = await aTenant(cluster);
  const workflow = await aWorkflow(cluster, { tenant });
  const run = {
    tenantID: tenant.id,
    workflowID: workflow.id,
    versionID: workflow.versionID,
    input: {},
    timeoutMs: 60_000,
  };
  const caller = { type: 'user', id: tenant.creator.id, userID: tenant.creator.id, origin: 'direct' } as const;
  await cluster.context.runs.acceptMany(Array.from({ length: 2_300 }, () => ({ ...run, caller })));

  await deleteTenant(cluster.context.pool, cluster.context.runs, tenant.id);

  expect(await rowsOf(tenant.id)).toEqual({});
});

test('an interrupted deletion is finished later, and the tenant is closed meanwhile', async () => {
  const tenant = await aFullTenant();
  const { pool, runs } = cluster.context;
  await pool.query(`update tenant set deleting_at = now() - interval '5 minutes' where id = $1`, [tenant.id]);

  const meanwhile = await cluster.as(tenant.creator).in(tenant).get('T/workflows');
  await resumeDeletions(pool, runs, () => expect.unreachable());

  expect(meanwhile.status).toBe(403);
  expect(await rowsOf(tenant.id)).toEqual(LEFT);
});

test('two processes may delete the same tenant concurrently', async () => {
  const tenant = await aFullTenant();
  const { pool, runs } = cluster.context;

  await Promise.all([deleteTenant(pool, runs, tenant.id), deleteTenant(pool, runs, tenant.id)]);

  expect(await rowsOf(tenant.id)).toEqual(LEFT);
});

/** Rows that a full tenant leaves: its listener with a connection, resources of an earlier one, and tokens to be revoked. */
const LEFT = { listener_residue: 2, oauth_revocation: 2 };

const A_CHAT = `
with session as (insert into ai_session (id, tenant_id, owner_id, chat_id) values ($1, $3, $3, 'a') returning id),
  message as (
    insert into ai_message (session_id, number, tenant_id, role, message_id, parts) select id, 1, $3, 'user', 'm', '[]' from session),
  answer as (
    insert into ai_answer (id, session_id, tenant_id, is_resumable, alive_until) select $2, id, $3, true, now() from session returning id)
insert into ai_chunk (answer_id, number, tenant_id, chunks) select id, 1, $3, '[]' from answer`;

/** A tenant with a row in every table that has a tenant. */
async function aFullTenant(): Promise<TestTenant> {
  const tenant = await aTenant(cluster);
  const workflow = await aWorkflow(cluster, { tenant });
  const api = cluster.as(tenant.creator).in(tenant);
  const { body } = await api.post(
    `T/workflows/${workflow.id}/execute`,
    { tags: ['a'] },
    { 'Idempotency-Key': newID() },
  );
  await api.post(`T/workflows/${workflow.id}/execute/bulk`, { items: [{}] });
  await api.post('T/variables', { name: 'rate', value: 1 });
  await api.post('T/ai-config', { maxCalls: 2 });
  await cluster.pool.query(
    `insert into ai_call (id, tenant_id, day, purpose, model, reserved_tokens, expires_at) values ($1, $2, now(), 'chat', 'm', 1, now())`,
    [newID(), tenant.id],
  );
  await cluster.pool.query(A_CHAT, [newID(), newID(), tenant.id]);
  await cluster.pool.query('insert into ai_usage (tenant_id, day) values ($1, now())', [tenant.id]);
  await cluster.pool.query(
    `insert into ai_tool_call (id, tenant_id, turn_id, number, tool, input, input_digest, caller) values ($1, $2, $1, 1, 'get_query', '{}', '', '{}')`,
    [newID(), tenant.id],
  );
  await api.post('T/folders', { entityType: 'workflow', folderTitle: 'Orders' });
  await api.post('T/dashboards', { dashboardTitle: 'Orders', dashboardConfig: {} });
  await api.post('T/app-pages', { appPageTitle: 'Orders', appPageConfig: {} });
  await aMember(cluster, { tenant });
  await cluster.pool.query(
    `insert into audit_seal (tenant_id, number, from_seq, to_seq, row_count, newest_at, content_hash, hash) values ($1, 1, 0, 1, 1, now(), '', '')`,
    [tenant.id],
  );
  await api.post('T/widgets', { widgetTitle: 'Orders', widgetType: 'table', widgetConfig: {} });
  await api.patch('T/retention', { days: 5 });
  await cluster.pool.query(
    `insert into bundle_key (tenant_id, type, key, asset_id, item_hash, asset_hash) values ($1, 'widget', $1, $1, '', '')`,
    [tenant.id],
  );
  await cluster.pool.query(
    "insert into import_job (id, tenant_id, creator_id, is_planned, lease_until, attempts) values ($1, $2, $2, false, now() + interval '1 hour', 1)",
    [newID(), tenant.id],
  );
  await cluster.pool.query(
    `insert into bundle_import (id, tenant_id, creator_id, created_count, updated_count, changes) values ($1, $2, $2, 0, 0, '[]')`,
    [newID(), tenant.id],
  );
  const job = await api.post('T/cronjobs', {
    cronJobTitle: 'A cron job',
    cronJobSchedule: '0 0 29 2 *',
    cronJobType: 'workflow',
    cronJobConfig: { workflowID: workflow.id },
  });
  await api.post(`T/cronjobs/${job.body.cronJob.id}/run`);
  await api.post(`T/cronjobs/${job.body.cronJob.id}/backfills`, { from: '2026-01-01T00:00:00Z' });
  await cluster.context.pool.query(
    `insert into cron_end (instance_id, tenant_id, cron_job_id, tick_id, status, ended_at) values ($1, $2, $1, $1, 'COMPLETED', now())`,
    [newID(), tenant.id],
  );
  await cluster.as(tenant.creator).post(`/api/v1/auth/config/${tenant.id}`, { config: { a: 1 } });
  await api.post('T/roles', { roleName: 'A role', rolePermissions: ['workflow.read'] });
  await api.post('T/users', { userEmail: `${newID()}@example.test` });
  await anApiKey(cluster, { tenant, can: ['workflow.read'] });
  const { pool } = cluster.context;
  await pool.query(
    `insert into collection_request (id, tenant_id, instance_id, node_id, collection_type, collection_config)
     values ($1, $2, $3, 'ask', 'form', '{}')`,
    [newID(), tenant.id, body.instanceID],
  );
  await api.post('T/upload-logo', aFile());
  await pool.query(
    `insert into tenant_logo (tenant_id, id, content_type, digest, bytes, created_at) values ($1, $2, 'image/png', 'a', 'a', now())`,
    [tenant.id, newID()],
  );
  await api.post('T/datasources/upload', aFile(Buffer.from('a,b\n1,2\n'), { name: 'a.csv' }));
  await pool.query(
    `insert into tenant_database (id, tenant_id, database_name, role_name, password) values ($1, $2, $3, $3, 'x')`,
    [newID(), tenant.id, `none_${newID()}`],
  );
  await pool.query('insert into tenant_dispatch (tenant_id) values ($1) on conflict do nothing', [tenant.id]);
  const ids = { datasource: newID(), query: newID() };
  await pool.query(
    `insert into datasource (id, tenant_id, datasource_title, datasource_type, datasource_options, creator_id)
     values ($1, $2, 'A', 'postgresql', '{}', $2)`,
    [ids.datasource, tenant.id],
  );
  await pool.query(
    `insert into data_query (id, tenant_id, data_query_title, data_query_options, datasource_id, datasource_type, creator_id)
     values ($1, $2, 'A', '{}', $3, 'postgresql', $2)`,
    [ids.query, tenant.id, ids.datasource],
  );
  await pool.query(
    `insert into query_run (id, tenant_id, datasource_type, caller, started_at, duration_ms)
     values ($1, $2, 'postgresql', '{}', now(), 1)`,
    [newID(), tenant.id],
  );
  await pool.query(`insert into query_cache values ($1, $2, '', now() + interval '1 hour')`, [newID(), tenant.id]);
  await pool.query(`insert into result_page values ($1, 2, $2, '', $2, '', now() + interval '1 hour')`, [
    newID(),
    tenant.id,
  ]);
  await api.post('T/workflows/events', { name: 'a', key: 'b' });
  await pool.query(
    `insert into event_wait (id, tenant_id, instance_id, workflow_id, name, key, since) values ($1, $2, $3, $4, 'a', 'b', now())`,
    [newID(), tenant.id, body.instanceID, workflow.id],
  );
  await pool.query(`insert into run_failure (instance_id, tenant_id, handler_id) values ($1, $2, $3)`, [
    body.instanceID,
    tenant.id,
    workflow.id,
  ]);
  const listener = await aListener(cluster, {
    tenant,
    actions: [{ actionType: 'transform', actionConfig: { script: 'return event;' } }],
  });
  const redis = await aDatasource(cluster, {
    tenant,
    type: 'redis',
    options: { connectionOption: 'connectionUrl', connectionUrl: 'redis://127.0.0.1:1' },
  });
  await aListener(cluster, { tenant, datasource: redis, config: { channels: 'a' } });
  await pool.query(
    `insert into listener_residue (tenant_id, listener_id, listener_type, listener_config, datasource_id, datasource_options)
     values ($1, $1, 'redis', '{}', $1, '{}')`,
    [tenant.id],
  );
  const ofListener = [newID(), tenant.id, listener.id];
  await pool.query(
    `insert into listener_event (id, tenant_id, listener_id, source) values ($1, $2, $3, 'webhook')`,
    ofListener,
  );
  await pool.query(
    `insert into listener_dedup (event_id, tenant_id, listener_id, key, body_hash, expires_at) values ($1, $2, $3, 'a', '', now())`,
    ofListener,
  );
  await pool.query(
    `insert into listener_buffer (id, event_id, tenant_id, listener_id, buffer_name, event_data, bytes, received_at)
     values ($1, $1, $2, $3, 'a', '{}', 2, now())`,
    ofListener,
  );
  await pool.query(
    `insert into listener_refusal (id, tenant_id, listener_id, status, code, reason, method, path, parameters, headers, omitted)
     values ($1, $2, $3, 401, 'a', 'b', 'POST', 'c', '{}', '[]', 0)`,
    ofListener,
  );
  await pool.query('insert into listener_breaker (listener_id, tenant_id) values ($1, $2)', [listener.id, tenant.id]);
  await pool.query(`insert into listener_usage (tenant_id, day) values ($1, now())`, [tenant.id]);
  await pool.query(
    `insert into run_delivery (instance_id, tenant_id, workflow_id, url, secret) values ($1, $2, $3, '', '')`,
    [body.instanceID, tenant.id, workflow.id],
  );
  await anOAuthConnection(cluster, { tenant });
  await pool.query(
    `insert into oauth_revocation (tenant_id, oauth_connection_id, creator_id, provider, tokens) values ($1, $1, $1, 'acme', '')`,
    [tenant.id],
  );
  await api.get(`/api/v1/oauth/acme/${tenant.id}/url`);
  await pool.query(
    `with e as (insert into run_event (instance_id, seq, node_id, status) values ($1, 1, 'start', 'RUNNING'))
     update workflow_instance set seq = 1 where id = $1`,
    [body.instanceID],
  );
  return tenant;
}

async function tenantTables(): Promise<string[]> {
  const { rows } = await cluster.context.pool.query<{ table_name: string }>(
    `select table_name from information_schema.columns where table_schema = 'public' and column_name = 'tenant_id'`,
  );
  return rows.map(({ table_name }) => table_name);
}

/** Number of rows that a tenant has, for each table with any. */
async function rowsOf(tenantID: string): Promise<Record<string, number>> {
  const { pool } = cluster.context;
  const counts: Record<string, number> = {};
  const count = async (name: string, sql: string) => {
    const { rows } = await pool.query<{ n: number }>(sql, [tenantID]);
    if (rows[0]?.n) counts[name] = rows[0].n;
  };
  for (const name of await tenantTables()) await count(name, `select count(*) as n from ${name} where tenant_id = $1`);
  await count('tenant', 'select count(*) as n from tenant where id = $1');
  await count(
    'events without a run',
    'select count(*) as n from run_event e where $1::uuid is not null and not exists (select from workflow_instance i where i.id = e.instance_id)',
  );
  return counts;
}

test("a tenant is shown with the numbers of its assets and the caller's role", async () => {
  const tenant = await aTenant(cluster);
  const member = await aMember(cluster, { tenant, can: ['tenant.read'] });
  const role = await aRole(cluster, { tenant, roleName: 'Helper' });
  await anApiKey(cluster, { tenant });
  await aWorkflow(cluster, { tenant });
  await cluster
    .as(tenant.creator)
    .in(tenant)
    .patch(`T/users/${member.id}/roles`, { roleIDs: [role.id] });

  const { body } = await cluster.as(member).in(tenant).get('T/');
  const listed = await cluster.as(member).get('/api/v1/tenants');

  const own = { role: 'MEMBER', roles: [{ roleID: role.id, roleName: 'Helper' }] };
  expect(body.tenant).toMatchObject({
    ...own,
    relationships: [{ tenantID: tenant.id, userID: member.id, role: 'MEMBER' }],
    tenantUserCount: 2,
    tenantRolesCount: 1,
    tenantAPIKeyCount: 1,
    tenantWorkflowCount: 1,
    tenantDatasourceCount: 0,
    tenantDataQueryCount: 0,
    tenantWidgetCount: 0,
  });
  expect(listed.body.tenants).toMatchObject([{ id: tenant.id, ...own }]);
});
