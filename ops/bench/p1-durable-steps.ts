import { newID } from '#shared/core/ids.ts';
import type { PoolClient } from '#shared/db/pool.ts';
import { bareLease, bareRuns, commitSteps, endLease, grouped, NUMBERS } from './bare-runs.ts';
import { type BenchEnvironment, noopChain } from './environment.ts';
import type { Figure, Row } from './row.ts';
import { runAll } from './run-all.ts';
import { spending } from './spending.ts';

const RUNS = 3000;
const STEPS = 10;
const AT_ONCE = 50;

/**
 * 3,000 runs of 10 serial no-op nodes, 50 at a time; each outcome durable before the next node starts. The start is the first
 * of the ten: its outcome is a step like any other.
 */
export const p1: Row = (environment) => durableSteps(environment, 'node');

/** The same with the default, where these pure nodes share a commit. */
export const p1b: Row = (environment) => durableSteps(environment, 'effect');

async function durableSteps(environment: BenchEnvironment, durability: 'node' | 'effect'): Promise<Figure[]> {
  const { pool } = environment;
  const graph = noopChain(STEPS - 1);
  const versionID = await environment.saveGraph(graph.nodes, graph.edges, { durability });
  const worker = await environment.startWorker({ WORKER_SLOTS: String(AT_ONCE) });

  const measure = (count: number) => runAll(environment, versionID, count);
  await measure(500);
  const spent = await spending({ worker, client: process.pid, ...environment.pids });
  const seconds =
    [await measure(RUNS), await measure(RUNS), await measure(RUNS)].sort((a, b) => a - b)[1] ?? Number.NaN;
  const microsPerStep = await spent((RUNS * STEPS * 3) / 1000);
  const completed = await pool.query<{ n: number }>(
    `select count(*) as n from workflow_instance where status = 'COMPLETED'`,
  );
  if (completed.rows[0]?.n !== RUNS * 3 + 500) throw new Error(`Only ${completed.rows[0]?.n} runs completed`);
  const bare = await bareInsert(environment);
  const fenced = await fencedCommit(environment, versionID);
  await environment.stopWorkers();
  const wholeRuns = await bareRuns(environment, { versionID, runs: RUNS, steps: STEPS, atOnce: AT_ONCE });
  const value = Math.round((RUNS * STEPS) / seconds);
  return [
    {
      value,
      unit: 'steps/s',
      floor: fenced,
      ratio: Number((value / fenced).toFixed(3)),
      settings: {
        ...(await environment.settings()),
        runs: RUNS,
        steps: STEPS,
        atOnce: AT_ONCE,
        bareGroupedInsert: bare,
        // With what a run costs Postgres apart from its steps: a tenth of each statement that accepts, dispatches, claims and ends it.
        wholeRunsFloor: wholeRuns,
        ratioToWholeRuns: Number((value / wholeRuns).toFixed(3)),
        microsPerStep,
        durability,
      },
    },
  ];
}

async function bareInsert({ pool, env }: BenchEnvironment): Promise<number> {
  await pool.query('create table bare_step (run uuid, seq bigint, payload jsonb, primary key (run, seq))');
  const ids = Array.from({ length: AT_ONCE }, () => newID());
  const seqs = new Array<number>(AT_ONCE).fill(0);
  return stepsPerSecond(env.DATABASE_URL ?? '', 60_000, async (client, members) => {
    await client.query({
      name: 'bare',
      text: `insert into bare_step select * from unnest($1::uuid[], $2::bigint[], $3::jsonb[])`,
      values: [
        members.map((m) => ids[m]),
        members.map((m) => {
          seqs[m] = (seqs[m] ?? 0) + 1;
          return seqs[m];
        }),
        members.map(() => '{"output":{}}'),
      ],
    });
  });
}

/** The commit statement on the engine's own tables, with the rows the engine writes, and no engine. */
async function fencedCommit(environment: BenchEnvironment, versionID: string): Promise<number> {
  const { pool, env, tenantID } = environment;
  const leaseID = await bareLease(environment, 0);
  const ids = Array.from({ length: AT_ONCE }, () => newID());
  await pool.query(
    `insert into workflow_instance (id, tenant_id, version_id, status, epoch, held_by, deadline_at, caller)
     select id, $2, $3, 'RUNNING', 1, $4, now() + interval '1 hour', '{}' from unnest($1::uuid[]) as id`,
    [ids, tenantID, versionID, leaseID],
  );
  const steps = new Array<number>(AT_ONCE).fill(0);
  const rate = await stepsPerSecond(env.DATABASE_URL ?? '', 30_000, async (client, members) => {
    const next = members.map((m) => ({
      id: ids[m] ?? '',
      from: (steps[m] ?? 0) * NUMBERS,
      nth: (steps[m] ?? 0) % STEPS,
    }));
    for (const m of members) steps[m] = (steps[m] ?? 0) + 1;
    await commitSteps(client, leaseID, next);
  });
  await pool.query('update workflow_instance set completed_at = now(), held_by = null where held_by = $1', [leaseID]);
  await endLease(environment, leaseID);
  return rate;
}

async function stepsPerSecond(
  url: string,
  total: number,
  write: (client: PoolClient, members: number[]) => Promise<void>,
): Promise<number> {
  let left = total;
  const seconds = await grouped({ url, atOnce: AT_ONCE }, async (client, members) => {
    left -= members.length;
    await write(client, members);
    return left > 0 ? members : [];
  });
  return Math.round((total - left) / seconds);
}
