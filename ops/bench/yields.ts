import { setTimeout as sleep } from 'node:timers/promises';
import { newID } from '#shared/core/ids.ts';
import { bareLease } from './bare-runs.ts';
import { type BenchEnvironment, noopChain, percentile } from './environment.ts';
import type { Figure, Row } from './row.ts';
import { runAll } from './run-all.ts';
import { spending } from './spending.ts';

const NODES = 4_000;
const ROUNDS = 5;
/** The sweep looks once a second whether runs wait. */
const LOOK_MS = 1_500;

/**
 * Processor time of a chain of 4,000 no-ops, of worker and servers together, while another run waits: the chain yields after each quantum. The floor
 * is the same chain while none waits, in turn with it.
 */
export const yields: Row = async (environment) => [
  await measureYields(environment, 'effect'),
  await measureYields(environment, 'node'),
];

async function measureYields(environment: BenchEnvironment, durability: 'node' | 'effect'): Promise<Figure> {
  const { pool } = environment;
  const { nodes, edges } = noopChain(NODES);
  const versionID = await environment.saveGraph(nodes, edges, { durability });
  const waiting = await addWaiting(environment, versionID);
  const worker = await environment.startWorker();
  const times = { alone: [] as number[], yielding: [] as number[] };
  let claims = 0;
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const how of ['alone', 'yielding'] as const) {
      await pool.query('update workflow_instance set ready_at = $2 where id = $1', [
        waiting,
        how === 'yielding' ? new Date() : null,
      ]);
      await sleep(LOOK_MS);
      const spent = await spending({ worker, ...environment.pids });
      await runAll(environment, versionID, 1);
      const ms = Object.values(await spent(1)).reduce<number>((sum, one) => sum + (one ?? 0), 0);
      // The first is for compilers and caches.
      if (round > 0) times[how].push(ms);
      const { rows } = await pool.query<{ epoch: number }>(
        'select epoch from workflow_instance where tenant_id = $1 order by id desc limit 1',
        [environment.tenantID],
      );
      if (how === 'yielding') claims = rows[0]?.epoch ?? 0;
    }
  await pool.query(
    'update workflow_instance set completed_at = now(), ready_at = null, held_by = null where completed_at is null',
  );
  await environment.stopWorkers();
  const [value, floor] = [percentile(times.yielding, 50), percentile(times.alone, 50)];
  return {
    figure: durability,
    value,
    unit: 'ms of processor time',
    floor,
    ratio: Number((value / floor).toFixed(3)),
    settings: { ...(await environment.settings()), nodes: NODES, yields: claims - 1, times },
  };
}

/** A run that waits as long as the row is measured: its tenant may have one at a time, and another lease holds that. */
async function addWaiting(environment: BenchEnvironment, versionID: string): Promise<string> {
  const { pool } = environment;
  const [tenantID, waiting] = [newID(), newID()];
  await pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, 'limited', $1)`, [tenantID]);
  await pool.query('insert into tenant_dispatch (tenant_id, max_runs) values ($1, 1)', [tenantID]);
  await pool.query(
    `insert into workflow_instance (id, tenant_id, version_id, status, epoch, held_by, deadline_at, caller)
     select id, $2, $3, case when lease is null then 'PENDING' else 'RUNNING' end, 1, lease, now() + interval '1 day', '{}'
     from (values ($1::uuid, null::uuid), ($4, $5)) as run(id, lease)`,
    [waiting, tenantID, versionID, newID(), await bareLease(environment, 0)],
  );
  return waiting;
}
