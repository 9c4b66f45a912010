import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLane } from '#shared/lanes.ts';
import { post, startApi } from './api-process.ts';
import { type BenchEnvironment, percentile } from './environment.ts';
import { measureSweep } from './p15-sweep.ts';
import type { Figure } from './row.ts';

const TENANTS = Number(process.env.P17_TENANTS ?? 10_000);
const DATABASES = Number(process.env.P17_DATABASES ?? 200);
/** Of each tenant. */
const EACH = { members: 5, rules: 30, workflows: 10, queries: 5, runs: 10, events: 5 };

/**
 * P17: start, memory, sweep and first requests of a deployment with 10,000 tenants, beside the same deployment with one. The
 * tenants have members, rules, workflows with versions, queries, runs with events; some have databases.
 */
export async function p17(environment: BenchEnvironment): Promise<Figure[]> {
  const figures: Figure[] = [];
  const { tenantID } = environment;
  const settings = { ...(await environment.settings()), tenants: TENANTS, databases: DATABASES, ...EACH };
  const add = (figure: string, unit: string, value: number, floor: number) =>
    figures.push({ figure, unit, value, floor, ratio: Number((value / floor).toFixed(2)), settings });

  const few = await measureProcesses(environment, [tenantID]);
  const fewSweep = sum(await measureSweep(environment));
  const ids = await fill(environment);
  const many = await measureProcesses(environment, ids);
  const manySweep = sum(await measureSweep(environment));

  add('API: from its start to ready', 'ms', many.startMs, few.startMs);
  add('API: memory after its start', 'MB', many.restMB, few.restMB);
  add('API: memory after a request in every tenant', 'MB', many.usedMB, few.usedMB);
  add('first request in a tenant', 'ms p50', many.cold.p50, few.warm.p50);
  add('first request in a tenant', 'ms p99', many.cold.p99, few.warm.p99);
  add('second request in a tenant', 'ms p50', many.warm.p50, few.warm.p50);
  add('second request in a tenant', 'ms p99', many.warm.p99, few.warm.p99);
  add('a round of the sweep', 'ms', manySweep, fewSweep);
  const databases = await measureDatabases(environment, ids.slice(0, DATABASES));
  add('worker: from its start to its lease', 'ms', databases.workerStartMs, databases.workerStartMs);
  add('first request that makes a database', 'ms p50', databases.made.p50, databases.warm.p50);
  add('first request in a database, with a worker just started', 'ms p50', databases.cold.p50, databases.warm.p50);
  add('first request in a database, with a worker just started', 'ms p99', databases.cold.p99, databases.warm.p50);
  add('worker: memory after a request in every database', 'MB', databases.usedMB, databases.restMB);
  return figures;
}

interface Times {
  p50: number;
  p99: number;
}

async function measureProcesses(environment: BenchEnvironment, tenants: readonly string[]) {
  const began = performance.now();
  await using api = await startApi(environment);
  const startMs = Math.round(performance.now() - began);
  const user = await signIn(api.url);
  await environment.pool.query(ADMIT, [tenants]);
  const restMB = megabytesOf(api.pid);
  const ask = (id: string) => timed(() => get(`${api.url}/api/v1/tenants/${id}/workflows`, user));
  const cold = await inTurn(tenants, ask);
  const warm = await inTurn(tenants.length > 1 ? tenants.slice(-1_000) : Array(200).fill(tenants[0]), ask);
  return { startMs, restMB, usedMB: megabytesOf(api.pid), cold, warm };
}

/** Requests in the tenants' databases, with a worker that has made them and with one that has just started. */
async function measureDatabases(environment: BenchEnvironment, tenants: readonly string[]) {
  await using api = await startApi(environment);
  const user = await signIn(api.url);
  const ask = (id: string) =>
    timed(() => post(`${api.url}/api/v1/tenants/${id}/database/execute-raw-sql`, user, { sql: 'select 1' }));
  const first = await environment.startWorker();
  const made = await inTurn(tenants, ask);
  process.kill(first, 'SIGTERM');
  while (existsSync(`/proc/${first}`)) await sleep(50);
  const began = performance.now();
  const second = await environment.startWorker();
  const workerStartMs = Math.round(performance.now() - began);
  const restMB = megabytesOf(second);
  const cold = await inTurn(tenants, ask);
  const warm = await inTurn(
    tenants.slice(-5).flatMap((id) => Array<string>(20).fill(id)),
    ask,
  );
  return { made, cold, warm, workerStartMs, restMB, usedMB: megabytesOf(second) };
}

/** Rows of all tenants, by statements of Postgres: ten thousand requests would measure the requests. */
async function fill({ pool }: BenchEnvironment): Promise<string[]> {
  await pool.query(MAKE_ID);
  const { rows } = await pool.query<{ id: string }>(
    `insert into tenant (id, tenant_title, creator_id, policy_version)
     select uuidv7(), 'Tenant ' || n, bench_id('user' || n / 10), 1 from generate_series(1, $1::int) n returning id`,
    [TENANTS],
  );
  const ids = rows.map(({ id }) => id);
  await pool.query(
    `insert into app_user (id, issuer, subject)
     select bench_id('user' || n), known.issuer, 'user' || n
     from (select issuer from app_user limit 1) known, generate_series(0, $1::int) n on conflict do nothing`,
    [Math.ceil(TENANTS / 10) + EACH.members],
  );
  for (const statement of FILL) await pool.query(statement, [ids]);
  await pool.query('analyze');
  return ids;
}

async function signIn(url: string): Promise<Record<string, string>> {
  const { token } = await post<{ token: string }>(`${url}/dev/token`, {}, { email: 'bench@example.com' });
  const user = { authorization: `Bearer ${token}` };
  await get(`${url}/api/v1/auth`, user);
  return user;
}

async function inTurn(tenants: readonly string[], ask: (id: string) => Promise<number>): Promise<Times> {
  const lane = createLane({ places: 2 });
  const times = await Promise.all(tenants.map((id) => lane.run({ tenantID: 'bench' }, () => ask(id))));
  return { p50: Number(percentile(times, 50).toFixed(1)), p99: Number(percentile(times, 99).toFixed(1)) };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

async function get(url: string, headers: Record<string, string>): Promise<void> {
  const response = await fetch(url, { headers });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text}`);
}

/** Proportional share of memory: pages that processes share are counted once. */
function megabytesOf(pid: number): number {
  const [, kilobytes] = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')) ?? [];
  return Math.round(Number(kilobytes) / 1024);
}

function sum(statements: readonly { ms: number }[]): number {
  return Number(statements.reduce((total, { ms }) => total + ms, 0).toFixed(2));
}

/** The person who measures is a member of each tenant, with all permissions. */
const ADMIT = `
with person as (select id from app_user where email = 'bench@example.com'),
membership as (
  insert into membership (tenant_id, user_id) select t.id, person.id from unnest($1::uuid[]) t(id), person on conflict do nothing)
insert into policy_rule (id, tenant_id, kind, subject, object, action)
select uuidv7(), t.id, 'rule', person.id, '*', '*' from unnest($1::uuid[]) t(id), person on conflict do nothing`;

/** The same id for the same text, of a version that requests accept. */
const MAKE_ID = `
create function bench_id(text) returns uuid language sql immutable
as $$ select overlay(overlay(md5($1) placing '8' from 13) placing '8' from 17)::uuid $$`;

const FILL = [
  `insert into membership (tenant_id, user_id)
   select id, bench_id('user' || (n / 10 + m)) from unnest($1::uuid[]) with ordinality t(id, n), generate_series(0, ${EACH.members - 1}) m`,
  `insert into policy_rule (id, tenant_id, kind, subject, object, action)
   select uuidv7(), id, 'rule', bench_id('user' || (n / 10 + r % ${EACH.members})), 'workflow:' || bench_id(id::text || r), '*'
   from unnest($1::uuid[]) with ordinality t(id, n), generate_series(1, ${EACH.rules}) r`,
  `insert into workflow_version (id, tenant_id, workflow_id, nodes, edges)
   select bench_id('version' || id || w), id, bench_id(id::text || w), '[{"id": "start", "type": "start", "data": {}}]', '[]'
   from unnest($1::uuid[]) id, generate_series(1, ${EACH.workflows}) w`,
  `insert into workflow (id, tenant_id, title, version_id, creator_id)
   select bench_id(id::text || w), id, 'Workflow ' || w, bench_id('version' || id || w), id
   from unnest($1::uuid[]) id, generate_series(1, ${EACH.workflows}) w`,
  `insert into data_query (id, tenant_id, data_query_title, data_query_options, datasource_type, creator_id)
   select uuidv7(), id, 'Query ' || q, '{"query": "select 1"}', 'tenantdb', id
   from unnest($1::uuid[]) id, generate_series(1, ${EACH.queries}) q`,
  `with run as (
     insert into workflow_instance (id, tenant_id, workflow_id, version_id, status, caller, deadline_at, completed_at)
     select uuidv7(), id, bench_id(id::text || r), bench_id('version' || id || r), 'COMPLETED', '{}', now(), now()
     from unnest($1::uuid[]) id, generate_series(1, ${EACH.runs}) r returning id)
   insert into run_event (instance_id, seq, status) select id, n, 'COMPLETED' from run, generate_series(1, ${EACH.events}) n`,
];
