import { expect, test } from 'vitest';
import { startDeployment } from '#test/support/deployment.ts';
import { type Spawned, spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';
import { keepLedger } from '../chaos/ledger.ts';

test('while a worker is killed, the ledger of every tenant balances', async () => {
  await using deployment = await startDeployment({ WORKER_SESSION_SECONDS: '2', WORKER_SLOTS: '20' });
  await using workers = new AsyncDisposableStack();
  const live: Spawned[] = [];
  const { pool, runs } = deployment;
  const countLeases = async () => Number((await pool.query('select from worker_session')).rowCount);

  /** Returns when the worker can take runs: a machine may be too busy to start one between two kills. */
  async function start(): Promise<void> {
    const before = await countLeases();
    live.push(workers.use(spawnNode(['workers/main.ts', 'workflow.runs'], deployment.env)));
    await eventually(async () => expect(await countLeases()).toBeGreaterThan(before));
  }

  await start();
  await start();
  let killed = 0;
  const { differences, startLatency } = await keepLedger(
    {
      pool,
      runs,
      async kill() {
        // More often, and a busy machine would do little else than go on with what was lost.
        if (killed > 0) return;
        await eventually(async () =>
          expect(
            (await pool.query('select from workflow_instance where held_by is not null')).rowCount,
          ).toBeGreaterThan(0),
        );
        killed += 1;
        await live.shift()?.kill('SIGKILL');
        await start();
      },
    },
    { runs: 300, tenants: 50, killEveryMs: 10, timeoutMs: 120_000, say: () => undefined },
  );

  expect(differences).toEqual([]);
  expect(killed).toBe(1);
  expect(Object.keys(startLatency)).toEqual(['batch', 'cron', 'interactive', 'webhook']);
}, 240_000);
