import { plainArray, textArray } from '#shared/db/array.ts';
import { createPool, type PoolClient } from '#shared/db/pool.ts';
import { newID } from '#shared/ids.ts';
import { createLogger } from '#shared/logger.ts';
import { COMMIT } from '#workers/engine/commit-sql.ts';
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
        microsPerStep,
        durability,
      },
    },
  ];
}

/**
 * Drives `AT_ONCE` loops whose steps are grouped into statements, two in flight, like the engine's committer, on connections with the
 * engine's settings: with the planner's defaults the fenced commit of 25 steps costs three times as much in a young table.
 */
async function grouped(
  total: number,
  write: (lane: PoolClient, members: number[]) => Promise<void>,
  url: string,
): Promise<number> {
  const logger = createLogger({ level: 'warn' });
  await using resources = new AsyncDisposableStack();
  const pool = createPool({ url, poolSize: 2 }, logger);
  resources.defer(() => pool.end());
  const lanes = await Promise.all([pool.connect(), pool.connect()]);
  resources.defer(() => {
    for (const lane of lanes) lane.release();
  });
  let left = total;
  let idle = Array.from({ length: AT_ONCE }, (_, i) => i);
  const began = performance.now();
  await Promise.all(
    lanes.map(async (lane) => {
      while (left > 0) {
        const members = idle.splice(0, Math.max(1, Math.min(idle.length, AT_ONCE / 2)));
        if (members.length === 0) {
          await new Promise((resolve) => setImmediate(resolve));
          continue;
        }
        left -= members.length;
        await write(lane, members);
        idle = idle.concat(members);
      }
    }),
  );
  const rate = Math.round((total - left) / ((performance.now() - began) / 1000));
  return rate;
}

async function bareInsert({ pool, env }: BenchEnvironment): Promise<number> {
  await pool.query('create table bare_step (run uuid, seq bigint, payload jsonb, primary key (run, seq))');
  const ids = Array.from({ length: AT_ONCE }, () => newID());
  const seqs = new Array<number>(AT_ONCE).fill(0);
  return grouped(
    60_000,
    async (lane, members) => {
      await lane.query({
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
    },
    env.DATABASE_URL ?? '',
  );
}

/** The commit statement on the engine's own tables, with the rows the engine writes, and no engine. */
async function fencedCommit({ pool, env, tenantID }: BenchEnvironment, versionID: string): Promise<number> {
  const leaseID = newID();
  const ids = Array.from({ length: AT_ONCE }, () => newID());
  await pool.query(
    `insert into worker_session (id, expires_at, slots, version) values ($1, now() + interval '1 hour', 0, 'floor')`,
    [leaseID],
  );
  await pool.query(
    `insert into workflow_instance (id, tenant_id, version_id, status, epoch, held_by, deadline_at, caller)
     select id, $2, $3, 'RUNNING', 1, $4, now() + interval '1 hour', '{}' from unnest($1::uuid[]) as id`,
    [ids, tenantID, versionID, leaseID],
  );
  const seqs = new Array<number>(AT_ONCE).fill(0);
  const output = '{"output":{"matched":"yes","label":null,"success":true}}';
  const rate = await grouped(
    30_000,
    async (lane, members) => {
      const from = members.map((m) => seqs[m] ?? 0);
      const runIDs = members.map((m) => ids[m] ?? null);
      for (const m of members) seqs[m] = (seqs[m] ?? 0) + 2;
      const { rowCount } = await lane.query({
        name: 'floor',
        text: COMMIT,
        values: [
          leaseID,
          plainArray(runIDs),
          plainArray(members.map(() => 1)),
          plainArray(from),
          plainArray(from.map((seq) => seq + 2)),
          plainArray(members.map(() => 'RUNNING')),
          plainArray(members.map(() => 0)),
          plainArray(members.map(() => 0)),
          textArray(members.map(() => null)),
          textArray(members.map(() => null)),
          plainArray(runIDs),
          plainArray(from.map((seq) => seq + 2)),
          textArray(from.map((seq) => `n${(seq / 2) % STEPS}`)),
          plainArray(members.map(() => 0)),
          plainArray(members.map(() => 1)),
          plainArray(members.map(() => 'SUCCESS')),
          textArray(members.map(() => 'yes')),
          textArray(members.map(() => output)),
          textArray(members.map(() => null)),
          textArray(from.map((seq) => JSON.stringify([`n${(seq / 2 + 1) % STEPS}`]))),
        ],
      });
      if (rowCount !== members.length) throw new Error('The floor did not commit');
    },
    env.DATABASE_URL ?? '',
  );
  await pool.query('update workflow_instance set completed_at = now(), held_by = null where held_by = $1', [leaseID]);
  return rate;
}
