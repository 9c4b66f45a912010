import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startMCP } from '#api/mcp/listen.ts';
import { startBoard } from '#ops/board.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { workflowRuns } from '#shared/messaging/queues/workflow-runs.ts';
import { readConfig } from '#shared/process/config.ts';
import { servePages } from '#shared/process/health-server.ts';
import { insertRuns } from '#shared/runs/accept.ts';
import { deniedBy } from '#workers/outbound/own-addresses.ts';
import { createWorker, type WorkerContext } from '#workers/process/worker.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { aCronJob } from '../../support/cron.ts';
import { allQueues } from '../../support/deployment.ts';
import { testLogger, testServers } from '../../support/environment.ts';
import { aDataQuery, aListener, aMember, aTenant, aWorkflow, type TestTenant } from '../../support/factories.ts';
import { noops } from '../../support/graphs.ts';
import { holdEventLoop } from '../../support/hold-event-loop.ts';
import { documentedMetrics, readSeries, scrape, sumSeries } from '../../support/metrics.ts';
import { eventually } from '../../support/settle.ts';

const watched = newID();
const LOCK = 20_261_127;
let cluster: Cluster;
let worker: WorkerContext;
let boardPort: number | null;
let mcpPort: number | null;
let tenant: TestTenant;
const resources = new AsyncDisposableStack();
beforeAll(async () => {
  cluster = resources.use(
    await startCluster({
      workers: false,
      // A tick that was due with its minute may be a minute old.
      settings: { METRICS_PORT: '0', METRICS_TENANTS: watched, CRON_LATE_SECONDS: '150' },
    }),
  );
  worker = await cluster.startWorker({}, allQueues);
  const config = readConfig({ ...cluster.env, BOARD_PORT: '0', MCP_PORT: '0' });
  boardPort = resources.use(await startBoard({ config, logger: testLogger })).metricsPort;
  mcpPort = resources.use(await startMCP({ config, logger: testLogger })).metricsPort;
  tenant = await aTenant(cluster);
  await addDelayedEvents();
});
afterAll(() => resources.disposeAsync());

const ports = () => ({ API: cluster.apis[0]?.metricsPort, worker: worker.metricsPort, MCP: mcpPort, board: boardPort });

describe.each(['API', 'worker', 'MCP', 'board'] as const)('the page of the guides and a process: %s', (name) => {
  test('name the same metrics', async () => {
    const { text } = await scrape(ports()[name]);

    const served = [...text.matchAll(/^# TYPE (\S+) (\S+)/gm)].map(([, name, kind]) =>
      kind === 'counter' ? `${name?.replace(/_total$/, '')}_total counter` : `${name} ${kind}`,
    );
    const own = documentedMetrics().filter(({ of }) => ['all', ...ofProcess[name]].some((each) => of.includes(each)));
    expect(own.map(({ name, kind }) => `${name} ${kind}`).sort()).toEqual(served.sort());
  });

  test('name the process', async () => {
    const { text } = await scrape(ports()[name]);
    const processes = [...text.matchAll(/\bprocess="(\w+)"/g)].map(([, process]) => process);
    expect(new Set(processes)).toEqual(new Set([name.toLowerCase()]));
  });

  test('name the same labels', async () => {
    const { text } = await scrape(ports()[name]);
    const rows = documentedMetrics();

    const wrong = [...text.matchAll(/^(gantry_\w+)\{([^}]*)\}/gm)].filter(([, name, labels = '']) => {
      const known = rows.find((row) => row.name === name)?.labels;
      return ![...labels.matchAll(/(\w+)="/g)].every(([, label = '']) => known?.includes(label));
    });
    expect(wrong).toEqual([]);
  });
});

const ofProcess = { API: ['API'], worker: ['worker', 'leader'], MCP: ['API'], board: [] } as const;

test('what runs have done is counted, and the sweep is seen', async () => {
  const versionID = await cluster.saveVersion(noops(3));
  await cluster.context.runs.accept(cluster.newRun(versionID));
  await cluster.settle();
  // Only the worker's sweep hands this one over.
  await insertRuns(cluster.pool, [cluster.newRun(versionID)]);
  await cluster.settle();

  await eventually(async () => {
    const { text } = await scrape(worker.metricsPort);
    const value = (series: string) => readSeries(text, series);
    expect(value('gantry_admissions_total{process="worker",outcome="admitted"}')).toBe(1);
    expect(value('gantry_hand_overs_total{process="worker",kind="refill",outcome="added"}')).toBe(1);
    expect(value('gantry_jobs_total{queue="workflow.runs",tenant="other",outcome="claimed"}')).toBeGreaterThan(0);
    expect(value('gantry_runs_left_total{process="worker",tenant="other",outcome="done"}')).toBe(2);
    expect(value('gantry_held_seconds_total{process="worker",tenant="other"}')).toBeGreaterThan(0);
    expect(value('gantry_claims_total{process="worker",outcome="won"}')).toBe(2);
    expect(value('gantry_claim_statements_total{process="worker"}')).toBeGreaterThan(0);
    expect(value('gantry_claim_seconds_total{process="worker"}')).toBeGreaterThan(0);
    expect(value('gantry_commit_statements_total{process="worker"}')).toBeGreaterThan(0);
    expect(value('gantry_commit_troubles_total{process="worker",kind="refused"}')).toBe(0);
    expect(value('gantry_held_runs_bytes{process="worker"}')).toBe(0);
    expect(value('gantry_forgotten_runs')).toBe(0);
    expect(value('gantry_commit_steps_total{process="worker"}')).toBeGreaterThanOrEqual(2);
    expect(value('gantry_commit_characters_total{process="worker"}')).toBeGreaterThan(20);
    expect(value('gantry_commit_seconds_total{process="worker"}')).toBeGreaterThan(0);
    expect(value('gantry_lease_renewals_total{process="worker",outcome="lost"}')).toBe(0);
    expect(value('gantry_sweep_leader')).toBe(1);
    expect(value('gantry_cron_jobs_due')).toBe(0);
    expect(value('gantry_cron_late_seconds_total')).toBe(0);
    expect(value('gantry_listener_leases{state="free"}')).toBe(0);
    expect(value('gantry_listener_residues')).toBe(0);
    expect(value('gantry_owned_listeners{state="reconnecting"}')).toBe(0);
    expect(value('gantry_lease_valid{process="worker"}')).toBe(1);
    expect(value('gantry_leases{state="live"}')).toBe(1);
    expect(value('gantry_sweep_steps_total{step="refill"}')).toBeGreaterThan(0);
    expect(value('gantry_sweep_step_seconds_total{step="refill"}')).toBeGreaterThan(0);
    expect(value('gantry_sweep_step_failures_total{step="refill"}')).toBe(0);
    expect(value('gantry_queue_jobs{queue="workflow.runs",state="completed"}')).toBeGreaterThan(0);
    expect(value('gantry_pool_connections{process="worker",pool="dispatch",state="waiting"}')).toBe(0);
    for (const pool of ['main', 'lease', 'backplane', 'tenants.tenants'])
      expect(value(`gantry_pool_connections{process="worker",pool="${pool}",state="used"}`)).toBeGreaterThanOrEqual(0);
  });
  const { text } = await scrape(cluster.apis[0]?.metricsPort);
  expect(readSeries(text, 'gantry_hand_overs_total{process="api",kind="new",outcome="added"}')).toBe(1);
});

test('the oldest READY run is told by its age, dispatched or not', async () => {
  const oldest = async () => readSeries((await scrape(worker.metricsPort)).text, 'gantry_oldest_ready_seconds');
  await eventually(async () => expect(await oldest()).toBeLessThan(60));

  await cluster.pool.query(
    `insert into workflow_instance (id, tenant_id, version_id, deadline_at, caller, ready_at, dispatched_at)
     select uuidv7(), $1, $1, now() + interval '1 hour', '{}', now() - make_interval(hours => n), now() from generate_series(1, 2) as n`,
    [tenant.id],
  );
  const seconds = await oldest();
  await cluster.pool.query('delete from workflow_instance where tenant_id = $1', [tenant.id]);

  expect(seconds).toBeGreaterThan(7_190);
  expect(seconds).toBeLessThan(7_260);
});

test('a difference of the accounting moves its metric', async () => {
  const difference = async () => readSeries((await scrape(worker.metricsPort)).text, 'gantry_accounting_difference');
  const insert = (completed: string, status: string) =>
    cluster.pool.query(
      `insert into workflow_instance (id, tenant_id, version_id, deadline_at, caller, status, completed_at)
       values (uuidv7(), $1, $1, now() + interval '1 hour', '{}', $2, ${completed})`,
      [tenant.id, status],
    );
  await eventually(async () => expect(await difference()).toBe(0));

  await insert('now()', 'RUNNING');
  expect(await difference()).toBe(1);
  await insert('null', 'COMPLETED');
  await eventually(async () => expect(await difference()).toBe(2));

  await cluster.pool.query('delete from workflow_instance where tenant_id = $1', [tenant.id]);
  await eventually(async () => expect(await difference()).toBe(0));
});

test('a question is counted where it is asked and where it is answered; only the named tenants are told apart', async () => {
  const api = cluster.as(tenant.creator).in(tenant);
  await cluster.pool.query(
    `insert into tenant (id, tenant_title, creator_id) select $1, 'Watched', creator_id from tenant where id = $2`,
    [watched, tenant.id],
  );
  await api.get('T/database/schemas');

  await eventually(async () => {
    const asked = await scrape(cluster.apis[0]?.metricsPort);
    const answered = await scrape(worker.metricsPort);
    const sum = (text: string, name: string) => sumSeries(text, `${name}{queue="tenant.database"`);
    expect(sum(asked.text, 'gantry_asks_total')).toBe(1);
    expect(sum(asked.text, 'gantry_ask_seconds_total')).toBeGreaterThan(0);
    expect(sum(asked.text, 'gantry_asks_waiting')).toBe(0);
    expect(sum(answered.text, 'gantry_jobs_total')).toBe(1);
    expect(sum(answered.text, 'gantry_job_seconds_total')).toBeGreaterThan(0);
    expect(asked.text + answered.text).toContain('tenant="other"');
    expect(asked.text + answered.text).not.toContain(tenant.id);
  });
});

test('a question under way is seen at its worker, and its request among the records of the audit trail', async () => {
  const { id } = await aDataQuery(cluster, { tenant, query: `select pg_advisory_xact_lock(${LOCK})::text` });
  await using resources = new AsyncDisposableStack();
  const lock = resources.adopt(new pg.Client({ connectionString: testServers.datasourceURL }), (one) => one.end());
  await lock.connect();
  await lock.query('select pg_advisory_lock($1)', [LOCK]);
  const questions = async () => {
    const { text } = await scrape(worker.metricsPort);
    return ['answered', 'waiting'].map((state) => readSeries(text, `gantry_questions{state="${state}"}`));
  };
  const records = async () => {
    const { text } = await scrape(cluster.apis[0]?.metricsPort);
    const value = (outcome: string) => readSeries(text, `gantry_audit_records_total{outcome="${outcome}"}`);
    return ['written', 'noted', 'lost'].map(value);
  };
  const before = await records();

  const answer = cluster.as(tenant.creator).in(tenant).post(`T/queries/${id}/run`, {});
  await eventually(async () => expect(await questions()).toEqual([1, 0]));
  await lock.query('select pg_advisory_unlock($1)', [LOCK]);

  expect((await answer).status).toBe(200);
  await eventually(async () => expect(await questions()).toEqual([0, 0]));
  await eventually(async () => {
    const after = await records();
    expect(after.map((value, n) => value - (before[n] ?? 0))).toEqual([1, 1, 0]);
  });
});

test('bytes that are held are seen, with what waits for some', async () => {
  const {
    config,
    requests: { bytes },
  } = cluster.context;
  const reserved = async () => {
    const { text } = await scrape(cluster.apis[0]?.metricsPort);
    return ['gantry_held_bytes', 'gantry_held_bytes_waiting'].map((name) => readSeries(text, name));
  };
  await eventually(async () => expect(await reserved()).toEqual([0, 0]));
  using works = new DisposableStack();
  const half = Math.floor(config.heldBytes.maxBytes / 2);
  const drawn = [half, half, 1].map((size) => works.use(bytes.openReservation({ tenantID: newID() })).reserve(size));

  expect(await reserved()).toEqual([2 * half, 1]);

  works.dispose();
  await Promise.all(drawn);
  expect(await reserved()).toEqual([0, 0]);
});

test('ticks of cron jobs are counted by what was decided, and the lateness of those that fired', async () => {
  const { id: workflowID } = await aWorkflow(cluster, { tenant });
  const settings = { workflowID, columns: { creator_id: tenant.creator.id } };
  for (const dueAgo of [0, 7_200]) await aCronJob({ pool: cluster.pool, tenantID: tenant.id }, { ...settings, dueAgo });

  await eventually(async () => {
    const { text } = await scrape(worker.metricsPort);
    const ticks = (outcome: string) => readSeries(text, `gantry_cron_ticks_total{outcome="${outcome}"}`);
    expect([ticks('fired'), ticks('missed')]).toEqual([1, 1]);
    expect(readSeries(text, 'gantry_cron_late_seconds_total')).toBeGreaterThan(0);
    expect(readSeries(text, 'gantry_cron_late_seconds_total')).toBeLessThan(150);
  });
});

test('what is refused is counted by code and reason, of a named tenant by its id', async () => {
  const user = await aMember(cluster, { tenant });
  await cluster.as(user).in(tenant).get('T/workflows');
  await cluster.as(tenant.creator).get(`/api/v1/tenants/${watched}/workflows`);
  await cluster.as(undefined).get('/api/v1/tenants');

  const { text } = await scrape(cluster.apis[0]?.metricsPort);
  const refused = (labels: string) => readSeries(text, `gantry_refusals_total{${labels}}`);
  expect(refused('code="PERMISSION_DENIED",reason="permission",tenant="other"')).toBe(1);
  expect(refused(`code="PERMISSION_DENIED",reason="membership",tenant="${watched}"`)).toBe(1);
  expect(refused('code="USER_AUTH_TOKEN_NOT_FOUND",reason="other",tenant="other"')).toBe(1);
});

test('a hold of the event loop is seen at the next scrape, and not at the one after it', async () => {
  const longest = async () => {
    const { text } = await scrape(worker.metricsPort);
    return readSeries(text, 'gantry_event_loop_delay_seconds{process="worker",quantile="1"}');
  };
  await longest();
  await sleep(100);
  holdEventLoop(2_000);
  await sleep(50);

  expect(await longest()).toBeGreaterThan(1.9);
  await sleep(50);
  expect(await longest()).toBeLessThan(1.9);
});

test('dead letters and open breakers are counted by the worker that sweeps', async () => {
  await eventually(async () => {
    const { text } = await scrape(worker.metricsPort);
    expect(readSeries(text, 'gantry_dead_letters')).toBe(2);
    expect(readSeries(text, 'gantry_open_breakers')).toBe(1);
  });
});

test('what cannot be read is missing on the page, and the rest is there', async () => {
  await cluster.pool.query('alter table worker_session rename column ended_at to ended_at_away');
  try {
    const { status, text } = await scrape(worker.metricsPort);

    expect(status).toBe(200);
    expect(text).toContain('# TYPE gantry_leases gauge');
    expect(text).not.toContain('gantry_leases{');
    expect(readSeries(text, 'gantry_held_runs{process="worker"}')).toBe(0);
  } finally {
    await cluster.pool.query('alter table worker_session rename column ended_at_away to ended_at');
  }
});

test('the answer is OpenMetrics; other paths are not found', async () => {
  for (const port of Object.values(ports())) {
    const { type, text } = await scrape(port);
    expect(type).toMatch(/^application\/openmetrics-text/);
    expect(text).toMatch(/# EOF\n$/);
    expect((await scrape(port, '/')).status).toBe(404);
  }
});

test('a worker is alive before it starts, ready when it has started, and not ready when it stops', async () => {
  await using pages = await servePages({ host: '127.0.0.1', port: 0 }, testLogger);
  const page = async (path: string) => {
    const { status, text } = await scrape(pages.port, path);
    return { code: status, ...JSON.parse(text) };
  };
  expect(await page('/health')).toMatchObject({ code: 200, success: true, status: 'ok' });
  expect(await page('/ready')).toEqual({ code: 503, ...notReady({ postgres: 'was not asked yet' }) });
  expect((await scrape(pages.port)).status).toBe(503);

  {
    await using _worker = await createWorker({ ...{ config: cluster.config, logger: testLogger, pages }, queueNames });
    const checks = {
      postgres: 'ok',
      schema: 'ok',
      backplane: 'ok',
      tenantDatabases: 'ok',
      secrets: 'ok',
      restore: 'ok',
      draining: false,
      lease: 'ok',
    };
    expect(await page('/ready')).toEqual({ code: 200, success: true, status: 'ready', checks });
    expect((await scrape(pages.port)).text).toContain('gantry_lease_valid');
  }

  expect(await page('/ready')).toMatchObject({ code: 503, ...notReady({ draining: true }) });
  expect(await page('/health')).toMatchObject({ code: 200 });
});

const queueNames = [workflowRuns.name];
const notReady = (checks: JsonObject) => ({ success: false, status: 'not ready', checks });

test('at most 50 tenants are told apart', () => {
  const settings = (count: number) => ({ METRICS_TENANTS: Array.from({ length: count }, newID).join(',') });

  expect(readConfig({ ...cluster.env, ...settings(50) }).metrics?.tenantIDs).toHaveLength(50);
  expect(() => readConfig({ ...cluster.env, ...settings(51) })).toThrow('METRICS_TENANTS');
});

test('tenants do not reach the listener', () => {
  const { servers } = deniedBy(readConfig({ ...cluster.env, HOST: '127.0.0.1', METRICS_PORT: '9464' }));

  expect(servers).toContainEqual({ host: '127.0.0.1', port: 9464 });
});

/** Dead letters, which are counted every five seconds, and a breaker that stays open. */
async function addDelayedEvents(): Promise<void> {
  const { id } = await aListener(cluster, { tenant });
  await cluster.pool.query(
    `insert into listener_event (id, tenant_id, listener_id, source, state, finished_at, expires_at)
     select uuidv7(), $1, $2, 'webhook', 'dead', now(), now() + interval '1 day' from generate_series(1, 2)`,
    [tenant.id, id],
  );
  await cluster.pool.query(
    `insert into listener_breaker (listener_id, tenant_id, failures, opened_at, probe_at)
     values ($1, $2, 10, now(), now() + interval '1 day')`,
    [id, tenant.id],
  );
}
