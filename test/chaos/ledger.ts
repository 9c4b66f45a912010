import { setTimeout as sleep } from 'node:timers/promises';
import { newID } from '#shared/core/ids.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { NewRun } from '#shared/runs/accept.ts';
import { accountFor } from '#shared/runs/accounting.ts';
import type { Runs } from '#shared/runs/runs.ts';
import { RunClass } from '#shared/workflow/limits.ts';
import { code, graph, noop } from '#test/support/graphs.ts';

export interface LedgerOptions {
  runs: number;
  tenants: number;
  killEveryMs: number;
  /** How long the runs may take after the last was accepted. */
  timeoutMs: number;
  say(line: string): void;
}

/** The part of a deployment that the ledger is about. */
interface Fleet {
  pool: Pool;
  runs: Pick<Runs, 'acceptMany' | 'stop'>;
  /** Ends a worker with SIGKILL and starts it again. */
  kill(): Promise<void>;
}

export interface Ledger {
  differences: string[];
  kills: number;
  seconds: number;
  /** Milliseconds from acceptance to the beginning, by class. */
  startLatency: Record<string, { runs: number; p50: number; p95: number; p99: number; max: number }>;
}

const BATCH = 500;
const FAILS_EVERY = 10;
const CANCELLED_EVERY = 50;

const start = { type: 'start' };
/** One of them for each tenant and run in turn: computed at once, in the sandbox, and with a wait. */
const shapes = [
  graph({ start, check: noop, end: endOf('success') }, ['start>check', 'check:yes>end']),
  graph({ start, add: code('return ctx.input.n + 1;'), end: endOf('success') }, ['start>add', 'add:success>end']),
  graph({ start, wait: { type: 'delay', delayMs: 40 }, end: endOf('success') }, ['start>wait', 'wait>end']),
];
const failing = graph({ start, wait: { type: 'delay', delayMs: 20 }, end: endOf('failure') }, [
  'start>wait',
  'wait>end',
]);

function endOf(status: string) {
  return { type: 'end', status };
}

/**
 * Accepts runs of many tenants and all classes, of which each tenth fails and some are cancelled, while workers are killed. When all
 * have ended, the accounting of each tenant must balance.
 */
export async function keepLedger(fleet: Fleet, options: LedgerOptions): Promise<Ledger> {
  const { pool, runs } = fleet;
  const began = performance.now();
  const tenants = await createTenants(pool, options.tenants);
  const stop = new AbortController();
  const killing = killWorkers(fleet, options, stop.signal);
  let accepted = 0;
  let cancels = 0;
  while (accepted < options.runs) {
    const size = Math.min(BATCH, options.runs - accepted);
    const batch = Array.from({ length: size }, (_, at) => newRun(tenants, accepted + at));
    const ids = await runs.acceptMany(batch);
    const unwanted = ids.flatMap((id, at) => ((accepted + at) % CANCELLED_EVERY === 1 ? [{ id, ...batch[at] }] : []));
    const stopped = await Promise.all(unwanted.map(({ id, tenantID = '' }) => runs.stop(tenantID, id)));
    cancels += stopped.filter((status) => status === 'CANCELLED').length;
    accepted += size;
  }
  options.say(`${accepted} runs of ${tenants.length} tenants are accepted, ${cancels} of them cancelled`);
  const open = await untilEnded(pool, options);
  stop.abort();
  const kills = await killing;
  const differences = open > 0 ? [`${open} runs are open`] : [];
  for (const [index, { tenantID }] of tenants.entries()) {
    const own = await balanceOf(pool, tenantID);
    const right = countsOf(options, index, tenants.length);
    // A cancel may come too late, so only the sum of what was cancelled is known, and a run that fails may have been cancelled.
    if (own.accepted !== right.accepted || own.difference !== 0 || own.inFlight !== 0 || own.failed !== right.failed)
      differences.push(`tenant ${index}: ${JSON.stringify(own)}, not ${JSON.stringify(right)}`);
  }
  const { rows } = await pool.query<{ n: number }>(
    `select count(*)::int as n from workflow_instance where status = 'CANCELLED'`,
  );
  if (rows[0]?.n !== cancels) differences.push(`${rows[0]?.n} runs are cancelled instead of ${cancels}`);
  return { differences, kills, seconds: (performance.now() - began) / 1_000, startLatency: await latencies(pool) };
}

interface Tenant {
  tenantID: string;
  versions: string[];
  failing: string;
}

async function createTenants(pool: Pool, count: number): Promise<Tenant[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, at): Promise<Tenant> => {
      const tenantID = newID();
      await pool.query('insert into tenant (id, tenant_title, creator_id) values ($1, $2, $3)', [
        tenantID,
        `Tenant ${at}`,
        newID(),
      ]);
      const [last = '', ...versions] = await Promise.all(
        [failing, ...shapes].map(async ({ nodes, edges }) => {
          const id = newID();
          await pool.query(
            'insert into workflow_version (id, tenant_id, nodes, edges, options) values ($1, $2, $3, $4, $5)',
            [id, tenantID, JSON.stringify(nodes), JSON.stringify(edges), '{}'],
          );
          return id;
        }),
      );
      return { tenantID, versions, failing: last };
    }),
  );
}

/** The runs belong to the tenants in turn; the number of a run among those of its tenant says whether it fails. */
function newRun(tenants: readonly Tenant[], n: number): NewRun {
  const tenant = tenants[n % tenants.length];
  const nth = Math.floor(n / tenants.length);
  const versionID = isFailing(n, tenants.length) ? tenant?.failing : tenant?.versions[nth % shapes.length];
  if (!tenant || versionID === undefined) throw new Error(`Run ${n} has no tenant or no version`);
  const { tenantID } = tenant;
  return {
    tenantID,
    workflowID: null,
    versionID,
    caller: { type: 'system', id: tenantID, origin: 'direct' },
    input: { n },
    timeoutMs: 3_600_000,
    class: RunClass.options[nth % RunClass.options.length] ?? 'batch',
  };
}

/** Runs that are cancelled do not fail. */
function isFailing(n: number, tenants: number): boolean {
  return Math.floor(n / tenants) % FAILS_EVERY === 0 && n % CANCELLED_EVERY !== 1;
}

function countsOf({ runs }: LedgerOptions, tenant: number, tenants: number) {
  const own = Array.from({ length: Math.ceil((runs - tenant) / tenants) }, (_, at) => at * tenants + tenant);
  return { accepted: own.length, failed: own.filter((n) => isFailing(n, tenants)).length };
}

async function balanceOf(pool: Pool, tenantID: string) {
  const day = 86_400_000;
  const { runs: hours } = await accountFor(pool, {
    tenantID,
    from: new Date(Date.now() - day),
    to: new Date(Date.now() + day),
  });
  const sum = { accepted: 0, completed: 0, failed: 0, cancelled: 0, inFlight: 0, difference: 0 };
  const names = ['accepted', 'completed', 'failed', 'cancelled', 'inFlight', 'difference'] as const;
  for (const hour of hours) for (const name of names) sum[name] += hour[name];
  return sum;
}

async function killWorkers({ kill }: Fleet, { killEveryMs, say }: LedgerOptions, signal: AbortSignal): Promise<number> {
  let kills = 0;
  while (!signal.aborted) {
    await sleep(killEveryMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) break;
    await kill();
    kills += 1;
    say(`worker killed, ${kills} in all`);
  }
  return kills;
}

async function untilEnded(pool: Pool, { timeoutMs, say }: LedgerOptions): Promise<number> {
  const end = performance.now() + timeoutMs;
  let told = performance.now();
  for (;;) {
    const { rows } = await pool.query<{ n: number }>(
      'select count(*)::int as n from workflow_instance where completed_at is null',
    );
    const open = rows[0]?.n ?? 0;
    if (open === 0 || performance.now() > end) return open;
    if (performance.now() - told > 10_000) {
      told = performance.now();
      say(`${open} runs are open`);
    }
    await sleep(200);
  }
}

async function latencies(pool: Pool): Promise<Ledger['startLatency']> {
  const { rows } = await pool.query<{
    class: string;
    runs: number;
    p50: number;
    p95: number;
    p99: number;
    max: number;
  }>(LATENCY);
  return Object.fromEntries(rows.map(({ class: name, ...figures }) => [name, figures]));
}

const LATENCY = `
select class, count(*)::int as runs, round(percentile_disc(0.5) within group (order by ms))::int as p50,
  round(percentile_disc(0.95) within group (order by ms))::int as p95,
  round(percentile_disc(0.99) within group (order by ms))::int as p99, round(max(ms))::int as max
from (select class, extract(epoch from started_at - created_at) * 1000 as ms from workflow_instance where started_at is not null) as started
group by class order by class`;
