import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/ids.ts';
import { retentions, retire } from '#workers/engine/retention.ts';
import { type Deployment, startDeployment } from '../../support/deployment.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment();
});
afterAll(() => deployment[Symbol.asyncDispose]());

const DAY_MS = 86_400_000;
const settings = { runsMs: 30 * DAY_MS, queryRunsMs: 7 * DAY_MS, operatorAuditMs: 400 * DAY_MS };

type Table = keyof typeof retentions;

/** A row whose period begins at `$2`. `$1` is an id, `$3` the tenant's. */
const rows: Record<Table, string> = {
  idempotency: `insert into idempotency values ($3, $1::text, 'route', 'key', 'hash', 200, '{}', $2)`,
  ask_claim: 'insert into ask_claim values ($1, $2)',
  ask_reply: `insert into ask_reply values ($1, 'sealed', $2)`,
  query_cache: `insert into query_cache values ($1::text, $3, 'sealed', $2)`,
  result_page: `insert into result_page values ($1, 2, $3, 'source', $3, 'sealed', $2)`,
  oauth_flow: `insert into oauth_flow (id, tenant_id, caller, browser_hash, expires_at) values ($1, $3, '{}', 'hash', $2)`,
  rate_limit: 'insert into rate_limit values ($1::text, 1, extract(epoch from $2) * 1000)',
  worker_session: `insert into worker_session values ($1, $2, $2, $2, 1, 'version')`,
  policy_change: `insert into policy_change values ($3, abs(hashtext($1::text)), 'add', '{}', $2)`,
  operator_session: `
    with op as (insert into operator (id, email, password_hash) values ($1, $1::text || '@example.test', 'x') returning id)
    insert into operator_session (id, operator_id, token_hash, ip_address, network, expires_at)
    select $1, id, sha256($1::text::bytea), '', '', $2 from op`,
  operator_audit: `insert into operator_audit (id, action, created_at) values ($1, 'BOARD', $2)`,
  query_run: `
    insert into query_run (id, tenant_id, datasource_type, caller, started_at, duration_ms)
    values ($1, $3, 'postgresql', '{}', $2, 1)`,
  workflow_instance: `
    with events as (insert into run_event (instance_id, seq, status) values ($1, 1, 'COMPLETED')),
    requests as (insert into collection_request (id, tenant_id, instance_id, node_id, collection_type, collection_config)
      values ($1, $3, $1, 'ask', 'form', '{}'))
    insert into workflow_instance (id, tenant_id, version_id, status, caller, deadline_at, completed_at)
    values ($1, $3, $1, 'COMPLETED', '{}', $2, $2)`,
  workflow_version: `insert into workflow_version (id, tenant_id, nodes, edges, created_at) values ($1, $3, '[]', '[]', $2)`,
};

async function add(table: Table, ageMs: number): Promise<void> {
  const { pool, tenantID } = deployment;
  // Postgres does not infer the types of parameters in expressions.
  const typed = rows[table]
    .replaceAll('$2', '$2::timestamptz')
    .replaceAll('$1', '$1::uuid')
    .replaceAll('$3', '$3::uuid');
  const params = [newID(), new Date(Date.now() - ageMs), tenantID].slice(0, rows[table].includes('$3') ? 3 : 2);
  await pool.query(typed, params);
}

async function count(table: string): Promise<number> {
  const { rows: counted } = await deployment.pool.query<{ n: number }>(`select count(*)::int as n from ${table}`);
  return counted[0]?.n ?? 0;
}

test.each(Object.entries(retentions))('%s is kept for its period and no longer', async (name, kept) => {
  const table = name as Table;
  const keptMs = typeof kept.for === 'number' ? kept.for * DAY_MS : settings[kept.for];
  const others: readonly string[] = 'with' in kept ? kept.with : [];
  const { pool } = deployment;

  await add(table, keptMs - 60_000);
  await retire(pool, settings);
  for (const each of [table, ...others]) expect(await count(each), each).toBe(1);

  await add(table, keptMs + 60_000);
  for (const each of [table, ...others]) expect(await count(each), each).toBe(2);
  await retire(pool, settings);
  for (const each of [table, ...others]) expect(await count(each), each).toBe(1);
});

test('a version is kept as long as a workflow or a run uses it', async () => {
  const { pool, tenantID } = deployment;
  await pool.query('delete from workflow_version');
  const { versionID } = await deployment.saveWorkflow({ nodes: [], edges: [] });
  const usedByRun = await deployment.saveVersion({ nodes: [], edges: [] });
  await deployment.saveVersion({ nodes: [], edges: [] });
  await pool.query(
    `insert into workflow_instance (id, tenant_id, version_id, caller, deadline_at) values ($1, $2, $3, '{}', now())`,
    [newID(), tenantID, usedByRun],
  );
  await pool.query(`update workflow_version set created_at = now() - interval '1 year'`);

  await retire(pool, settings);

  const left = await pool.query<{ id: string }>('select id from workflow_version');
  expect(left.rows.map(({ id }) => id).sort()).toEqual([versionID, usedByRun].sort());
});
