import { newID } from '#shared/core/ids.ts';
import type { Pool } from '#shared/db/pool.ts';
import { type BenchEnvironment, noopChain } from './environment.ts';

/** An active webhook without authentication that starts a workflow. Its creator may do everything. Answers with its id. Call it when the API
 * runs, which refuses a database with users of another issuer. */
export async function aWebhook(
  { pool, tenantID }: Pick<BenchEnvironment, 'pool' | 'tenantID'>,
  { workflowID, config }: { workflowID: string; config: object },
): Promise<string> {
  const [datasourceID, listenerID] = [newID(), newID()];
  const userID = await aCreator(pool, tenantID);
  await pool.query(
    `insert into datasource (id, tenant_id, datasource_title, datasource_type, datasource_options, creator_id)
     values ($1, $2, 'Senders', 'webhook', '{}', $3)`,
    [datasourceID, tenantID, userID],
  );
  await pool.query(
    `insert into listener (id, tenant_id, listener_title, listener_type, datasource_id, listener_config, status, creator_id)
     values ($1, $2, 'Measured', 'webhook', $3, $4, 'active', $5)`,
    [listenerID, tenantID, datasourceID, JSON.stringify(config), userID],
  );
  await pool.query(
    `insert into listener_action (id, tenant_id, listener_id, action_type, action_config) values ($1, $2, $3, 'trigger_workflow', $4)`,
    [newID(), tenantID, listenerID, JSON.stringify({ workflowID })],
  );
  return listenerID;
}

/** A member of the tenant who may do everything. */
export async function aCreator(pool: Pool, tenantID: string): Promise<string> {
  const userID = newID();
  await pool.query(
    `insert into app_user (id, issuer, subject, email) values ($1::uuid, 'bench', $1::uuid::text, $1::uuid::text)`,
    [userID],
  );
  await pool.query('insert into membership (tenant_id, user_id) values ($1, $2)', [tenantID, userID]);
  await pool.query(
    `insert into policy_rule (id, tenant_id, kind, subject, object, action) values ($1, $2, 'rule', $3, '*', '*')`,
    [newID(), tenantID, userID],
  );
  return userID;
}

/** A workflow of one no-op. */
export async function aNoopWorkflow(pool: Pool, tenantID: string): Promise<string> {
  const [versionID, workflowID] = [newID(), newID()];
  const { nodes, edges } = noopChain(1);
  await pool.query(
    `insert into workflow_version (id, tenant_id, workflow_id, nodes, edges, options) values ($1, $2, $3, $4, $5, '{}')`,
    [versionID, tenantID, workflowID, JSON.stringify(nodes), JSON.stringify(edges)],
  );
  await pool.query(
    `insert into workflow (id, tenant_id, title, version_id, creator_id) values ($1, $2, 'A no-op', $3, $2)`,
    [workflowID, tenantID, versionID],
  );
  return workflowID;
}

/** Another tenant than that of the environment. */
export async function anotherTenant(pool: Pool): Promise<string> {
  const id = newID();
  await pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, 'B', $2)`, [id, newID()]);
  return id;
}
