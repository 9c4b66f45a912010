import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import { newID } from '#shared/core/ids.ts';
import { migrationNames } from '#shared/entities/migrations/names.ts';
import { createOrm } from '#shared/entities/orm.ts';
import { entities } from '#shared/entities/tables/index.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { WorkflowVersion } from '#shared/entities/tables/workflow-version.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { testLogger } from '#test/support/environment.ts';
import { noops } from '#test/support/graphs.ts';
import { retentions } from '#workers/maintenance/retention/tables.ts';

let deployment: Deployment;
let orm: Awaited<ReturnType<typeof createOrm>>;
beforeAll(async () => {
  deployment = await startDeployment();
  orm = await createOrm(deployment.config.db, testLogger);
});
afterAll(async () => {
  await orm.close();
  await deployment[Symbol.asyncDispose]();
});

/** Entities by name, because the compiler rejects the union of all entities as an entity. */
function metadataOf(name: string) {
  const meta = [...orm.getMetadata().getAll().values()].find(({ className }) => className === name);
  if (!meta) throw new Error(`${name} is not mapped`);
  return meta;
}

test('every entity of a tenant is filtered by tenant by default', () => {
  for (const entity of entities) {
    const meta = metadataOf(entity.name);
    if (!('tenantID' in meta.properties)) continue;
    expect(meta.filters.tenant, meta.className).toMatchObject({ default: true });
  }
});

test('the schema check expects exactly the migrations that ran, in order', async () => {
  const { rows } = await deployment.pool.query<{ name: string }>('select name from schema_migration order by id');
  expect(rows.map(({ name }) => name)).toEqual(migrationNames);
  const files = await readdir('shared/entities/migrations');
  expect(files.sort()).toEqual([...migrationNames.map((name) => `${name}.ts`), 'index.ts', 'names.ts']);
});

test('every mapped column exists under its name in the migrations', async () => {
  for (const entity of entities) {
    const meta = metadataOf(entity.name);
    const { rows } = await deployment.pool.query<{ column_name: string }>(
      'select column_name from information_schema.columns where table_name = $1',
      [meta.tableName],
    );
    const columns = new Set(rows.map(({ column_name }) => column_name));
    for (const property of meta.props)
      for (const name of property.fieldNames) expect(columns, `${meta.tableName}.${name}`).toContain(name);
  }
});

test('an entity manager of one tenant neither finds nor changes rows of another', async () => {
  const { workflowID, versionID } = await deployment.saveWorkflow(noops(1));
  const em = tenantEntityManager(orm.em, newID());

  expect(await em.findOne(Workflow, { id: workflowID })).toBeNull();
  expect(await em.count(WorkflowVersion)).toBe(0);
  expect(await em.nativeUpdate(Workflow, { id: workflowID }, { title: 'Mine now' })).toBe(0);
  expect(await em.nativeDelete(WorkflowVersion, { id: versionID })).toBe(0);

  const owner = tenantEntityManager(orm.em, deployment.tenantID);
  expect((await owner.findOneOrFail(Workflow, { id: workflowID })).title).toBe('A workflow');
});

test('every table either has a retention or is kept', async () => {
  const retained = [
    'tenant',
    'tenant_logo',
    'tenant_database',
    'tenant_database_removal',
    'tenant_connection',
    'tenant_server',
    'secret_key',
    'deployment_restore',
    'app_user',
    'membership',
    'api_key',
    'invitation',
    'role',
    'user_config',
    'policy_rule',
    'workflow',
    'datasource',
    'data_query',
    'widget',
    'widget_library_entry',
    'listener',
    'listener_action',
    'listener_breaker',
    'listener_lease',
    'listener_owner',
    'listener_residue',
    'tenant_file',
    'tenant_file_chunk',
    'file_garbage',
    'quota',
    'run_retention',
    'tenant_usage',
    'oauth_connection',
    'folder',
    'dashboard',
    'app_page',
    'asset_version',
    'ai_config',
    'bundle_import',
    'import_job',
    'bundle_key',
    'tenant_variable',
    'cron_job',
    'cron_end',
    'tenant_dispatch',
    'dispatch_turn',
    'freed_key',
    'service_state',
    'sweep',
    'run_notice',
    'operator',
    'sign_in_account',
    'sign_in_recovery_code',
    'sign_in_passkey',
    'sign_in_key',
    'schema_migration',
    'audit_progress',
  ];
  // Events, waits, requests and maps go with their runs; the attachments are deleted by the adapter of Socket.IO.
  const retired = [
    ...Object.entries(retentions).flatMap(([key, retained]) => ('table' in retained ? [] : key)),
    'run_event',
    'run_log',
    'run_wait',
    'run_checkpoint',
    'run_tag',
    'run_failure',
    'run_delivery',
    'collection_request',
    'event_wait',
    'run_map',
    'map_chunk',
    // Go with their session.
    'ai_message',
    'ai_chunk',
    'socket_io_attachments',
    // Deleted with their seals (`workers/audit`).
    'audit_record',
    'audit_seal',
  ];
  const { rows } = await deployment.pool.query<{ tablename: string }>(
    `select tablename from pg_tables where schemaname = 'public'`,
  );

  expect(rows.map(({ tablename }) => tablename).sort()).toEqual([...retained, ...retired].sort());
});
