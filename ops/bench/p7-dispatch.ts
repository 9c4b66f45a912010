import { createLogger } from '#shared/core/logger.ts';
import { createBackplane } from '#shared/messaging/backplane/index.ts';
import { readConfig } from '#shared/process/config.ts';
import { type BenchEnvironment, noopChain } from './environment.ts';
import type { Row } from './row.ts';
import { runAll } from './run-all.ts';

const RUNS = Number(process.env.P7_RUNS ?? 5_000);
const AT_ONCE = 50;

/** 5,000 runs of one no-op node through everything: accepted in one call, dispatched, claimed, committed. The floor is bare BullMQ. */
export const p7: Row = async (environment) => {
  const graph = noopChain(1);
  const versionID = await environment.saveGraph(graph.nodes, graph.edges);
  await environment.startWorker({ WORKER_SLOTS: String(AT_ONCE) });
  await runAll(environment, versionID, 1_000);

  const times = [];
  for (let n = 0; n < 3; n += 1) times.push(await runAll(environment, versionID, RUNS));
  const seconds = times.toSorted((a, b) => a - b)[1] ?? Number.NaN;
  const floor = await bareQueue(environment);
  const value = Math.round(RUNS / seconds);
  return [
    {
      value,
      unit: 'runs/s',
      floor,
      ratio: Number((value / floor).toFixed(3)),
      settings: { ...(await environment.settings()), runs: RUNS, atOnce: AT_ONCE },
    },
  ];
};

/** Jobs a second that one process adds and another consumer of it completes, with as many at once as the worker has slots. */
async function bareQueue({ env }: BenchEnvironment): Promise<number> {
  const logger = createLogger({ level: 'warn' });
  await using backplane = await createBackplane(readConfig(env).backplane, logger);
  const done = Promise.withResolvers<void>();
  let left = RUNS;
  const worker = backplane.worker(
    'bench.bare',
    async () => {
      left -= 1;
      if (left === 0) done.resolve();
    },
    { concurrency: AT_ONCE, maxStalledCount: 1, leaseMs: 30_000 },
  );
  const running = worker.run();
  const began = performance.now();
  for (let at = 0; at < RUNS; at += 500)
    await backplane.add(
      'bench.bare',
      Array.from({ length: 500 }, (_, n) => ({
        name: 'bench.bare',
        data: { n: at + n },
        opts: { removeOnComplete: true, removeOnFail: true },
      })),
    );
  await done.promise;
  const seconds = (performance.now() - began) / 1_000;
  await worker.close();
  await running;
  return Math.round(RUNS / seconds);
}
