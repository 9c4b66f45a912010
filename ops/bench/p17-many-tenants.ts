import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSemaphore } from '#shared/concurrency/semaphore.ts';
import { startPostgres } from '../embedded/postgres.ts';
import { post, startApi } from './api-process.ts';
import { type BenchEnvironment, percentile } from './environment.ts';
import { measureSweep } from './p15-sweep.ts';
import type { Figure } from './row.ts';
import { processorMs } from './spending.ts';

const TENANTS = Number(process.env.P17_TENANTS ?? 10_000);
const DATABASES = Number(process.env.P17_DATABASES ?? 200);
/** Tenants that get a first write and a first run. */
const WRITES = 500;
/** Rows of each tenant. */
const EACH = { members: 5, rules: 30, workflows: 10, queries: 5, runs: 10, events: 5, waiting: 1, quotas: 2 };

/**
 * P17: start, memory, sweep and first requests of a deployment with 10,000 tenants, beside the same deployment with one. The
 * tenants have members, rules, quotas, workflows with versions, queries, runs with events, and a run that waits; some have databases
 * on a separate server. Processor time and the number of transactions say what a request costs on a machine that does other work too.
 */
export async function p17(environment: BenchEnvironment): Promise<Figure[]> {
  const figures: Figure[] = [];
  const { tenantID } = environment;
  const settings = { ...(await environment.settings()), tenants: TENANTS, databases: DATABASES, ...EACH };
  const add = (figure: string, unit: string, value: number, floor: number) =>
    figures.push({ figure, unit, value, floor, ratio: Number((value / floor).toFixed(2)), settings });
  const compare = (figure: string, value: Cost, floor: Cost) => {
    for (const unit of UNITS) add(figure, unit, value[unit], floor[unit]);
  };

  await environment.pool.query(MAKE_ID);
  await environment.pool.query(
    `insert into workflow_version (id, tenant_id, workflow_id, nodes, edges) values (bench_id('version'), $1, bench_id('workflow'), $2, '[]')`,
    [tenantID, START],
  );
  await environment.pool.query(
    `insert into workflow (id, tenant_id, title, version_id, creator_id) values (bench_id($1::uuid::text || 1), $1, 'W', bench_id('version'), $1)`,
    [tenantID],
  );
  const few = await measureAPI(environment, [tenantID]);
  const fewSweep = await measureSweep(environment);
  const ids = await fill(environment);
  const many = await measureAPI(environment, ids);
  const manySweep = await measureSweep(environment);

  add('API: from its start to ready', 'ms', many.startMs, few.startMs);
  add('API: from its start to ready', 'processor ms', many.startProcessorMs, few.startProcessorMs);
  add('API: memory after its start', 'MB', many.restMB, few.restMB);
  add('API: memory after a request in every tenant', 'MB', many.usedMB, few.usedMB);
  compare('first request in a tenant', many.cold, few.warm);
  compare('second request in a tenant', many.warm, few.warm);
  compare('first asset created in a tenant, within its quota', many.write, few.write);
  compare('first run accepted in a tenant, within its quota', many.run, few.run);
  add('a round of the sweep', 'ms', sum(manySweep), sum(fewSweep));
  add('a round of the sweep', 'statements', manySweep.length, fewSweep.length);
  const { first, second, ...databases } = await measureDatabases(environment, ids.slice(0, DATABASES));
  add('worker: from its start to its lease', 'ms', second.startMs, first.startMs);
  add('worker: from its start to its lease', 'processor ms', second.startProcessorMs, first.startProcessorMs);
  compare('first request that makes a database', databases.made, databases.warm);
  compare('first request in a database, with a worker just started', databases.cold, databases.warm);
  add('worker: memory after a request in every database', 'MB', databases.usedMB, databases.restMB);
  return figures;
}

const UNITS = ['ms p50', 'ms p99', 'processor ms', 'transactions'] as const;
/** Processor time of the process that is asked, and transactions on the deployment's Postgres: means of a request. */
type Cost = Record<(typeof UNITS)[number], number>;

async function measureAPI(environment: BenchEnvironment, tenants: readonly string[]) {
  const { api, ...start } = await started(async () => {
    const api = await startApi(environment);
    return { api, pid: api.pid };
  });
  await using running = api;
  const user = await signIn(running.url);
  await environment.pool.query(DISPATCH, [tenants]);
  const restMB = megabytesOf(running.pid);
  const at = (id: string) => `${running.url}/api/v1/tenants/${id}`;
  const oneByOne = (ids: readonly string[], ask: (id: string) => Promise<unknown>) =>
    costOf(environment, running.pid, ids, ask);
  const again = (count: number) => (tenants.length > 1 ? tenants.slice(-count) : Array(200).fill(tenants[0]));

  const list = (id: string) => get(`${at(id)}/workflows`, user);
  const cold = await oneByOne(tenants, list);
  const warm = await oneByOne(again(1_000), list);
  const usedMB = megabytesOf(running.pid);
  const write = await oneByOne(again(WRITES), (id) =>
    post(`${at(id)}/roles`, user, { roleName: `Role ${Math.random()}`, rolePermissions: [] }),
  );
  const known = await idsOfWorkflows(environment, again(WRITES));
  const run = await oneByOne(again(WRITES), (id) => post(`${at(id)}/workflows/${known.get(id)}/execute`, user, {}));
  // The sweep is measured beside the runs that wait, not beside these.
  await environment.pool.query(`delete from workflow_instance where status = 'PENDING'`);
  return { ...start, restMB, usedMB, cold, warm, write, run };
}

async function idsOfWorkflows({ pool }: BenchEnvironment, tenants: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ tenant: string; id: string }>(
    `select id as tenant, bench_id(id::text || 1) as id from unnest($1::uuid[]) id`,
    [tenants],
  );
  return new Map(rows.map(({ tenant, id }) => [tenant, id]));
}

/** Requests in the tenants' databases on a separate server, with a worker that has made them and with one that has just started. */
async function measureDatabases(environment: BenchEnvironment, tenants: readonly string[]) {
  await using resources = new AsyncDisposableStack();
  const dir = resources.adopt(await mkdtemp(join(tmpdir(), 'gantry-bench-')), (path) =>
    rm(path, { recursive: true, force: true }),
  );
  const files = { dir: join(dir, 'tenants'), log: join(dir, 'log') };
  const reserved = { reserved_connections: '5' };
  const server = resources.use(
    await startPostgres({ ...files, database: 'postgres', settings: reserved, forTenants: true }),
  );
  const settings = { TENANT_DATABASES_URL: `apart=${server.url}` };
  const api = resources.use(await startApi({ ...environment, env: { ...environment.env, ...settings } }));
  const user = await signIn(api.url);
  const ask = (id: string) =>
    post(`${api.url}/api/v1/tenants/${id}/database/execute-raw-sql`, user, { sql: 'select 1' });
  const startWorker = () => started(async () => ({ pid: await environment.startWorker(settings) }));

  const first = await startWorker();
  const made = await costOf(environment, first.pid, tenants, ask);
  await stop(first);
  const second = await startWorker();
  const restMB = megabytesOf(second.pid);
  const cold = await costOf(environment, second.pid, tenants, ask);
  const often = tenants.slice(-5).flatMap((id) => Array<string>(20).fill(id));
  const warm = await costOf(environment, second.pid, often, ask);
  const usedMB = megabytesOf(second.pid);
  await stop(second);
  return { made, cold, warm, first, second, restMB, usedMB };
}

async function stop({ pid }: { pid: number }): Promise<void> {
  process.kill(pid, 'SIGTERM');
  while (existsSync(`/proc/${pid}`)) await sleep(50);
}

async function started<T extends { pid: number }>(start: () => Promise<T>) {
  const began = performance.now();
  const process = await start();
  const startMs = Math.round(performance.now() - began);
  return { ...process, startMs, startProcessorMs: (await processorMs(process.pid)) ?? Number.NaN };
}

async function costOf(
  { pool }: BenchEnvironment,
  pid: number,
  tenants: readonly string[],
  ask: (id: string) => Promise<unknown>,
): Promise<Cost> {
  const spent = async () => ({ ms: (await processorMs(pid)) ?? Number.NaN, n: await transactionsOf(pool) });
  const requests = createSemaphore({ permits: 2 });
  const before = await spent();
  const times = await Promise.all(tenants.map((id) => requests.run({ tenantID: 'bench' }, () => timed(() => ask(id)))));
  const after = await spent();
  const round = (value: number) => Number(value.toFixed(1));
  return {
    'ms p50': round(percentile(times, 50)),
    'ms p99': round(percentile(times, 99)),
    'processor ms': round((after.ms - before.ms) / times.length),
    transactions: round((after.n - before.n) / times.length),
  };
}

/** A statement outside a transaction counts as one. Postgres adds those of a connection up to a second later. */
async function transactionsOf(pool: BenchEnvironment['pool']): Promise<number> {
  await sleep(1_100);
  const { rows } = await pool.query<{ n: number }>(
    'select (xact_commit + xact_rollback)::int as n from pg_stat_database where datname = current_database()',
  );
  return rows[0]?.n ?? 0;
}

/** Rows of all tenants, by statements of Postgres: ten thousand requests would measure the requests. */
async function fill({ pool }: BenchEnvironment): Promise<string[]> {
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
const DISPATCH = `
with person as (select id from app_user where email = 'bench@example.com'),
membership as (
  insert into membership (tenant_id, user_id) select t.id, person.id from unnest($1::uuid[]) t(id), person on conflict do nothing)
insert into policy_rule (id, tenant_id, kind, subject, object, action)
select uuidv7(), t.id, 'rule', person.id, '*', '*' from unnest($1::uuid[]) t(id), person on conflict do nothing`;

const START = '[{"id": "start", "type": "start", "data": {}}]';

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
   select bench_id('version' || id || w), id, bench_id(id::text || w), '${START}', '[]'
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
  `insert into workflow_instance (id, tenant_id, workflow_id, version_id, status, caller, started_at, wake_at, deadline_at)
   select uuidv7(), id, bench_id(id::text || 1), bench_id('version' || id || 1), 'WAITING', '{}', now(), now() + interval '1 day', now() + interval '7 days'
   from unnest($1::uuid[]) id, generate_series(1, ${EACH.waiting})`,
  `insert into quota (owner_id, name, max) select id, name, 2_000 from unnest($1::uuid[]) id, unnest('{roles,runs}'::text[]) name`,
];
