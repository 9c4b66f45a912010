import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { Pool } from '#shared/db/pool.ts';
import { retire, startRetention } from '#workers/maintenance/retention/retire.ts';
import { BATCH, deletionOf, ofRuns, retentions, secondsOf } from '#workers/maintenance/retention/tables.ts';
import { type Deployment, startDeployment } from '../../support/deployment.ts';
import { testLogger } from '../../support/environment.ts';
import { eventually } from '../../support/settle.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment();
});
afterAll(() => deployment[Symbol.asyncDispose]());

const DAY_MS = 86_400_000;
const settings = {
  runsMs: 30 * DAY_MS,
  maxRunsMs: 90 * DAY_MS,
  queryRunsMs: 7 * DAY_MS,
  operatorAuditMs: 400 * DAY_MS,
};

type Table = keyof typeof retentions;

/** A row whose period begins at `$2`. `$1` is an id, `$3` the tenant's. */
const rows: Record<Table, string> = {
  idempotency: `insert into idempotency values ($3, $1::text, 'route', 'key', 'hash', 200, '{}', $2)`,
  ask_claim: 'insert into ask_claim values ($1, $2)',
  ask_reply: `insert into ask_reply values ($1, 'sealed', $2)`,
  query_cache: `insert into query_cache values ($1::text, $3, 'sealed', $2)`,
  result_page: `insert into result_page values ($1, 2, $3, 'source', $3, 'sealed', $2)`,
  oauth_flow: `insert into oauth_flow (id, tenant_id, caller, browser_hash, expires_at) values ($1, $3, '{}', 'hash', $2)`,
  oauth_revocation: `
    insert into oauth_revocation (id, tenant_id, oauth_connection_id, creator_id, provider, tokens, ready_at, created_at)
    values ($1, $3, $1, $1, 'acme', 'sealed', 'infinity', $2)`,
  rate_limit: 'insert into rate_limit values ($1::text, 1, extract(epoch from $2) * 1000)',
  worker_session: `insert into worker_session values ($1, $2, $2, $2, 1, 'version')`,
  policy_change: `insert into policy_change values ($3, abs(hashtext($1::text)), 'add', '{}', $2)`,
  operator_session: `
    with op as (insert into operator (id, email, password_hash) values ($1, $1::text || '@example.test', 'x') returning id)
    insert into operator_session (id, operator_id, token_hash, ip_address, network, expires_at)
    select $1, id, sha256($1::text::bytea), '', '', $2 from op`,
  operator_audit: `insert into operator_audit (id, action, created_at) values ($1, 'BOARD', $2)`,
  sign_in_record: `insert into sign_in_record (kind, id, payload, expires_at) values ('Session', sha256($1::text::bytea), '{}', $2)`,
  sign_in_link: `insert into sign_in_link (token_hash, purpose, expires_at) values (sha256($1::text::bytea), 'FIRST', $2)`,
  sign_in_audit: `insert into sign_in_audit (id, action, created_at) values ($1, 'SIGNED_IN', $2)`,
  asset_change: `insert into asset_change (tenant_id, entity, asset_id, action, expires_at) values ($3, 'workflow', $1, 'updated', $2)`,
  ai_call: `
    insert into ai_call (id, tenant_id, day, purpose, model, reserved_tokens, started_at, expires_at)
    values ($1, $3, $2::timestamptz, 'chat', 'm', 1, $2, $2)`,
  ai_usage: 'insert into ai_usage (tenant_id, day, updated_at) values ($1, $2::timestamptz, $2)',
  ai_answer: `
    with session as (insert into ai_session (id, tenant_id, owner_id, chat_id) values ($1, $3, $1, $1))
    insert into ai_answer (id, session_id, tenant_id, is_resumable, status, alive_until, ended_at)
    values ($1, $1, $3, false, 'done', $2, $2)`,
  ai_tool_call: `
    insert into ai_tool_call (id, tenant_id, turn_id, number, tool, input, input_digest, caller, created_at)
    values ($1, $3, $1, 1, 'get_query', '{}', '', '{}', $2)`,
  ai_session: `insert into ai_session (id, tenant_id, owner_id, chat_id, updated_at) values ($1, $3, $1, $1, $2)`,
  notification: `
    insert into notification (id, tenant_id, user_id, kind, title, action, action_text, created_at)
    values ($1, $3, $1, 'tenantJoined', 'a', 'b', 'c', $2)`,
  query_run: `
    insert into query_run (id, tenant_id, datasource_type, caller, started_at, duration_ms)
    values ($1, $3, 'postgresql', '{}', $2, 1)`,
  workflow_instance: `
    with events as (insert into run_event (instance_id, seq, status) values ($1, 1, 'COMPLETED')),
    logs as (insert into run_log (instance_id, seq, node_id, lines, cut_lines, cut_bytes) values ($1, 1, 'a', '[]', 0, 0)),
    failures as (insert into run_failure (instance_id, tenant_id, handler_id) values ($1, $3, $1)),
    deliveries as (insert into run_delivery (instance_id, tenant_id, workflow_id, url, secret) values ($1, $3, $1, '', '')),
    tags as (insert into run_tag (instance_id, tag, tenant_id) values ($1, 'a', $3)),
    checkpoints as (insert into run_checkpoint (instance_id, seq, state) values ($1, 1, '{}')),
    maps as (insert into run_map (id, instance_id, node_id, path, attempt, plan, scope, items, chunks, concurrency, max_result_size)
      values ($1, $1, 'map', '0', 1, '{}', '{}', 1, 1, 1, 1)),
    requests as (insert into collection_request (id, tenant_id, instance_id, node_id, collection_type, collection_config)
      values ($1, $3, $1, 'ask', 'form', '{}')),
    awaited as (insert into event_wait (id, tenant_id, instance_id, workflow_id, name, key, since) values ($1, $3, $1, $1, 'a', 'b', $2))
    insert into workflow_instance (id, tenant_id, version_id, status, caller, deadline_at, completed_at)
    values ($1, $3, $1, 'COMPLETED', '{}', $2, $2)`,
  test_run: `
    insert into workflow_instance (id, tenant_id, version_id, status, is_test, caller, deadline_at, completed_at)
    values ($1, $3, $1, 'COMPLETED', true, '{}', $2, $2)`,
  workflow_event: `
    insert into workflow_event (id, tenant_id, name, key, data, bytes, caller, is_told, remembered_until)
    values ($1, $3, 'a', 'b', '{}', 2, '{}', true, $2)`,
  listener_event: `
    insert into listener_event (id, tenant_id, listener_id, source, state, finished_at, expires_at)
    values ($1, $3, $1, 'webhook', 'done', $2, $2)`,
  listener_buffer: `
    with source as (insert into datasource (id, tenant_id, datasource_title, datasource_type, datasource_options, creator_id)
      values ($1, $3, 'A', 'webhook', '{}', $3) returning id),
    listener as (insert into listener (id, tenant_id, listener_title, listener_type, datasource_id, creator_id)
      select $1, $3, 'A', 'webhook', id, $3 from source returning id)
    insert into listener_buffer (id, tenant_id, listener_id, event_id, buffer_name, event_data, bytes, received_at, expires_at)
    select $1, $3, id, $1, 'a', '{}', 2, $2, $2 from listener`,
  listener_refusal: `
    with source as (insert into datasource (id, tenant_id, datasource_title, datasource_type, datasource_options, creator_id)
      values ($1, $3, 'A', 'webhook', '{}', $3) returning id),
    listener as (insert into listener (id, tenant_id, listener_title, listener_type, datasource_id, creator_id)
      select $1, $3, 'A', 'webhook', id, $3 from source returning id)
    insert into listener_refusal (id, tenant_id, listener_id, expires_at, status, code, reason, method, path, parameters, headers, omitted)
    select $1, $3, id, $2, 401, 'a', 'b', 'POST', 'c', '{}', '[]', 0 from listener`,
  listener_dedup: `
    insert into listener_dedup (listener_id, key, tenant_id, event_id, body_hash, expires_at) values ($1, 'a', $3, $1, '', $2)`,
  listener_usage: 'insert into listener_usage (tenant_id, day) values ($1, $2)',
  cron_backfill: `
    with job as (insert into cron_job (id, tenant_id, cron_job_title, cron_job_schedule, timezone, cron_job_type, cron_job_config, overlap_policy,
      missed_run_policy, missed_run_window_seconds, jitter_seconds, timeout_seconds, retry_attempts, retry_delay_seconds, creator_id)
      values ($1, $3, 'A', '* * * * *', 'UTC', 'workflow', '{}', 'allow', 'skip', 60, 0, 1, 0, 0, $3) returning id)
    insert into cron_backfill (id, tenant_id, cron_job_id, from_at, to_at, creator_id, created_at) select $1, $3, id, $2, $2, $3, $2 from job`,
  cron_tick: `
    with job as (insert into cron_job (id, tenant_id, cron_job_title, cron_job_schedule, timezone, cron_job_type, cron_job_config, overlap_policy,
      missed_run_policy, missed_run_window_seconds, jitter_seconds, timeout_seconds, retry_attempts, retry_delay_seconds, creator_id)
      values ($1, $3, 'A', '* * * * *', 'UTC', 'workflow', '{}', 'allow', 'skip', 60, 0, 1, 0, 0, $3) returning id)
    insert into cron_tick (id, tenant_id, cron_job_id, scheduled_at, trigger_type, status, outcome, created_at)
    select $1, $3, id, $2, 'SCHEDULED', 'SUCCESS', 'fired', $2 from job`,
  run_batch: `insert into run_batch (id, tenant_id, kind, creator_id, caller, created_at) values ($1, $3, 'execute', $3, '{}', $2)`,
  workflow_version: `insert into workflow_version (id, tenant_id, nodes, edges, created_at, superseded_at) values ($1, $3, '[]', '[]', $2, $2)`,
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

async function count(entry: string): Promise<number> {
  const table = entry === 'test_run' ? retentions.test_run.table : entry;
  const { rows: counted } = await deployment.pool.query<{ n: number }>(`select count(*)::int as n from ${table}`);
  return counted[0]?.n ?? 0;
}

test.each(Object.entries(retentions))('%s is kept for its period and no longer', async (name, retention) => {
  const table = name as Table;
  const retentionMs = typeof retention.for === 'number' ? retention.for * DAY_MS : settings[retention.for];
  // The rows with a test run are those with any other.
  const others: readonly string[] = table === 'workflow_instance' ? ofRuns : [];
  const { pool } = deployment;
  if ('table' in retention) await pool.query(`delete from ${retention.table}`);
  // Rows of the assets that other rows belong to.
  if (table === 'asset_change') await pool.query('delete from asset_change');

  await add(table, retentionMs - 60_000);
  await retire(table, { pool, settings });
  for (const each of [table, ...others]) expect(await count(each), each).toBe(1);

  await add(table, retentionMs + 60_000);
  for (const each of [table, ...others]) expect(await count(each), each).toBe(2);
  await retire(table, { pool, settings });
  for (const each of [table, ...others]) expect(await count(each), each).toBe(1);
});

test('the chunks of a map, and sub-workflows, are kept as long as their run, and are deleted with it', async () => {
  const { pool, tenantID } = deployment;
  await pool.query('delete from workflow_instance');
  const [parent, mapID, inner, other] = [newID(), newID(), newID(), newID()];
  const insert = (id: string, completed: string | null, more: { mapID?: string; parentID?: string } = {}) =>
    pool.query(
      `insert into workflow_instance (id, tenant_id, version_id, status, caller, deadline_at, completed_at, map_id, parent_id)
       values ($1, $2, $1, 'COMPLETED', '{}', now(), now() - $3::interval, $4, $5)`,
      [id, tenantID, completed, more.mapID ?? null, more.parentID ?? null],
    );
  await insert(parent, null);
  await pool.query(
    `insert into run_map (id, instance_id, node_id, path, attempt, plan, scope, items, chunks, concurrency, max_result_size)
     values ($1, $2, 'map', '0', 1, '{}', '{}', 2, 2, 1, 1)`,
    [mapID, parent],
  );
  for (const n of [1, 2]) {
    const id = newID();
    await insert(id, '40 days', { mapID, parentID: parent });
    await pool.query(
      `insert into map_chunk (map_id, n, first, size, items, instance_id) values ($1, $2, $2, 1, '[]', $3)`,
      [mapID, n, id],
    );
  }
  // A map within the map, and a sub-workflow of it.
  const [chunk] = (await pool.query<{ id: string }>('select instance_id as id from map_chunk')).rows;
  await insert(inner, '40 days', { mapID: newID(), parentID: chunk?.id ?? '' });
  await insert(other, '40 days', { parentID: inner });
  const left = async () => {
    await retire('workflow_instance', { pool, settings });
    return [await count('workflow_instance'), await count('map_chunk')];
  };

  expect(await left(), 'while the run goes on').toEqual([5, 2]);
  await pool.query(`update workflow_instance set completed_at = now() - interval '29 days' where id = $1`, [parent]);
  expect(await left(), 'while the run is kept').toEqual([5, 2]);
  await pool.query(`update workflow_instance set completed_at = now() - interval '31 days' where id = $1`, [parent]);
  await pool.query('update workflow_instance set completed_at = null where id = $1', [other]);
  expect(await left(), 'while a part of it goes on').toEqual([4, 2]);
  await pool.query('update workflow_instance set completed_at = now() where id = $1', [other]);
  expect(await left(), 'afterwards').toEqual([0, 0]);
  await insert(other, '40 days', { parentID: parent });
  expect(await left(), 'if an earlier version has left it').toEqual([0, 0]);
});

test('a version is kept while it is published, labelled, the latest, or the version of a run', async () => {
  const { pool, tenantID } = deployment;
  await pool.query('delete from workflow_version');
  const aYearAgo = () =>
    pool.query(`
      update workflow_version set created_at = created_at - interval '1 year', superseded_at = superseded_at - interval '1 year';
      update workflow_instance set created_at = created_at - interval '1 year'`);
  const addRun = (versionID: string, workflowID: string | null) =>
    pool.query(
      `insert into workflow_instance (id, tenant_id, workflow_id, version_id, caller, deadline_at) values ($1, $2, $3, $4, '{}', now())`,
      [newID(), tenantID, workflowID, versionID],
    );
  const current = await deployment.saveWorkflow({ nodes: [], edges: [] });
  const changed = await deployment.saveWorkflow({ nodes: [], edges: [] });
  const deleted = await deployment.saveWorkflow({ nodes: [], edges: [] });
  await pool.query(`update workflow_version set label = 'Kept' where id = $1`, [deleted.versionID]);
  const withDrafts = await deployment.saveWorkflow({ nodes: [], edges: [] });
  const draftOf = (label: string | null) =>
    deployment.saveVersion({ nodes: [], edges: [] }, {}, withDrafts.workflowID).then(async (id) => {
      await pool.query('update workflow_version set label = $2 where id = $1', [id, label]);
      return id;
    });
  const [labelled, _old, latest] = [await draftOf('Before the migration'), await draftOf(null), await draftOf(null)];
  const drafts = [withDrafts.versionID, labelled, latest];
  const usedByTest = await deployment.saveVersion({ nodes: [], edges: [] });
  await deployment.saveVersion({ nodes: [], edges: [] });
  await addRun(usedByTest, null);
  await addRun(changed.versionID, changed.workflowID);
  const next = await deployment.saveVersion({ nodes: [], edges: [] }, {}, changed.workflowID);
  await pool.query('update workflow set version_id = $2 where id = $1', [changed.workflowID, next]);
  await pool.query('delete from workflow where id = $1', [deleted.workflowID]);
  await aYearAgo();
  const left = async () => {
    await retire('workflow_version', { pool, settings });
    return (await pool.query<{ id: string }>('select id from workflow_version')).rows.map(({ id }) => id).sort();
  };

  expect(await left()).toEqual([current.versionID, usedByTest, changed.versionID, next, ...drafts].sort());
  await pool.query('delete from workflow_instance');
  expect(await left()).toEqual([current.versionID, next, ...drafts].sort());
});

test('an event is kept until it is told, and the runs that it has reached go on', async () => {
  const { pool } = deployment;
  await pool.query('delete from workflow_event');
  for (let n = 0; n < 3; n += 1) await add('workflow_event', 60_000);
  const { rows: events } = await pool.query<{ id: string }>('select id from workflow_event');
  const [untold, reached, done] = events.map(({ id }) => id);
  await pool.query('update workflow_event set is_told = false where id = $1', [untold]);
  for (const [eventID, isOver] of [
    [reached, false],
    [done, true],
  ])
    await pool.query(
      `with w as (
         insert into event_wait (id, tenant_id, instance_id, workflow_id, name, key, since, is_open, event_id)
         select $1, tenant_id, $1, $1, 'a', 'b', now(), false, id from workflow_event where id = $2)
       insert into run_wait (instance_id, node_id, kind, ref) select $1, 'n', 'event', $1 where not $3`,
      [newID(), eventID, isOver],
    );
  await retire('workflow_event', { pool, settings });
  const { rows: left } = await pool.query<{ id: string }>('select id from workflow_event order by id');
  expect(left.map(({ id }) => id)).toEqual([untold, reached].sort());
  await pool.query('delete from run_wait');
  await pool.query('update workflow_event set is_told = true');
  await retire('workflow_event', { pool, settings });
  expect(await count('workflow_event')).toBe(0);
});

test('the deletion from every table finds its rows by an index', async () => {
  const { pool } = deployment;
  for (const table of Object.keys(retentions) as Table[]) {
    const scans = await scansOf(pool, deletionOf(table).replaceAll('$1', '86400'));
    expect(scans.length, table).toBeGreaterThan(0);
    for (const scan of scans) {
      const isByPosition = scan['Node Type'] === 'Tid Scan';
      expect(isByPosition || scan['Index Cond'] !== undefined, `${table}: ${JSON.stringify(scan)}`).toBe(true);
    }
  }
});

test('a backlog of any size is gone after one turn, beside another worker, and a failing table stops no other', async () => {
  const { pool, tenantID } = deployment;
  const old = BATCH.alone * 2 + 7;
  await pool.query('delete from policy_change; delete from ask_claim');
  await pool.query(
    `insert into policy_change select $1, n, 'add', '{}', now() - interval '8 days' from generate_series(1, $2::int) n`,
    [tenantID, old],
  );
  await pool.query(
    `insert into workflow_instance (id, tenant_id, version_id, status, caller, deadline_at, completed_at)
     select gen_random_uuid(), $1, $1, 'COMPLETED', '{}', now(), now() - interval '40 days' from generate_series(1, $2::int)`,
    [tenantID, BATCH.withOthers * 2 + 7],
  );
  await pool.query('alter table query_run rename to query_run_away');
  await pool.query(`insert into ask_claim values ($1, now() - interval '1 second')`, [newID()]);
  const logged: unknown[] = [];
  const logger = testLogger.child({});
  logger.warn = (...args: unknown[]) => void logged.push(...args);

  const deleted = await Promise.all([1, 2].map(() => retire('policy_change', { pool, settings })));
  expect(deleted.reduce((sum, n) => sum + n, 0)).toBe(old);
  await Promise.all([1, 2].map(() => retire('workflow_instance', { pool, settings })));
  expect([await count('policy_change'), await count('workflow_instance')]).toEqual([0, 0]);

  await using _started = startRetention({ pool, settings, logger, everyMs: 100 });
  await eventually(async () => expect(await count('ask_claim')).toBe(0));
  await eventually(() => expect(JSON.stringify(logged)).toContain('retention of query_run'));
  await pool.query('alter table query_run_away rename to query_run');
});

test('with runs coming and going for an hour, every table keeps its size', async () => {
  const { pool, tenantID } = deployment;
  // A period of ten minutes, of which each round of the loop is one, with 60 runs instead of 6,000.
  const began = Date.now() - 3_600_000;
  const sizes: number[][] = [];
  for (let minute = 1; minute <= 60; minute += 1) {
    const at = new Date(began + minute * 60_000);
    await pool.query(
      `with run as (
         insert into workflow_instance (id, tenant_id, version_id, status, caller, deadline_at, created_at, completed_at)
         select gen_random_uuid(), $1, $1, 'COMPLETED', '{}', $2, $2, $2 from generate_series(1, 60) returning id)
       insert into run_event (instance_id, seq, status) select id, n, 'SUCCESS' from run, generate_series(1, 5) n`,
      [tenantID, at],
    );
    await pool.query(
      `insert into query_run (id, tenant_id, datasource_type, caller, started_at, duration_ms)
       select gen_random_uuid(), $1, 'postgresql', '{}', $2, 1 from generate_series(1, 60)`,
      [tenantID, at],
    );
    // Their period is in the row: these are over in the next round.
    await pool.query(
      `with e as (
         insert into listener_event (id, tenant_id, listener_id, source, state, finished_at, expires_at)
         select gen_random_uuid(), $1, $1, 'webhook', 'done', now(), now() from generate_series(1, 60) returning id)
       insert into listener_dedup (listener_id, key, tenant_id, event_id, body_hash, expires_at) select $1, id::text, $1, id, '', now() from e`,
      [tenantID],
    );
    const periodMs = Date.now() - at.getTime() + 10 * 60_000;
    const moved = { ...settings, runsMs: periodMs, queryRunsMs: periodMs };
    const own = ['workflow_instance', 'query_run', 'listener_event', 'listener_dedup'] as const;
    for (const table of own) await retire(table, { pool, settings: moved });
    sizes.push(await Promise.all(['run_event', ...own].map(count)));
  }

  for (const each of sizes.slice(15)) expect(each).toEqual(sizes[15]);
  expect(sizes[15]).toEqual([3_000, 600, 600, 0, 0].map((n) => expect.closeTo(n, -3)));
});

test('periods come from the settings', () => {
  expect(secondsOf('workflow_instance', settings)).toBe(30 * 86_400);
  expect(secondsOf('policy_change', settings)).toBe(7 * 86_400);
});

async function scansOf(pool: Pool, statement: string): Promise<Plan[]> {
  const { rows: plans } = await pool.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(`explain (format json) ${statement}`);
  return scansIn(plans[0]?.['QUERY PLAN'][0].Plan);
}

interface Plan {
  'Node Type': string;
  'Index Name'?: string;
  'Index Cond'?: string;
  Plans?: Plan[];
}

/** Every scan of a table. Those of the rows that a statement hands on have no condition of their own. */
function scansIn(plan: Plan | undefined): Plan[] {
  if (!plan) return [];
  const isScan = plan['Node Type'].endsWith('Scan') && !['CTE Scan', 'Subquery Scan'].includes(plan['Node Type']);
  return [...(isScan ? [plan] : []), ...(plan.Plans ?? []).flatMap(scansIn)];
}
