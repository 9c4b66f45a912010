import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '#shared/core/logger.ts';
import { createBackplane } from '#shared/messaging/backplane/index.ts';
import { createProducer } from '#shared/messaging/producer.ts';
import { readConfig } from '#shared/process/config.ts';
import { createRuns } from '#shared/runs/runs.ts';
import { keepLedger, type Ledger } from './ledger.ts';
import { startWorld } from './world.ts';

const TENANTS = 50;

/** Keeps the ledger of so many runs on real processes, of which a worker is killed every 10 s. */
export async function ledgerOfWorld(
  backplaneKind: 'redis' | 'postgres',
  count: number,
  say: (line: string) => void,
): Promise<Ledger> {
  if (!Number.isSafeInteger(count) || count < TENANTS) throw new Error(`--ledger takes a number from ${TENANTS}`);
  await using world = await startWorld({ isRedis: backplaneKind === 'redis', leaseSeconds: 8 });
  const logger = createLogger({ level: 'silent' });
  await using backplane = await createBackplane(readConfig(world.env).backplane, logger);
  const { pool } = world;
  const producer = createProducer(backplane);
  const runs = createRuns({ pool, dispatchPool: pool, producer, messages: backplane.messages, logger });
  let kills = 0;

  async function countLeases(): Promise<number> {
    return Number((await pool.query('select from worker_session')).rowCount);
  }

  /** Returns when the worker has started again: on a busy machine that takes as long as the time between two kills. */
  async function kill(): Promise<void> {
    const target = kills % 2 === 0 ? 'worker1' : 'worker2';
    kills += 1;
    const before = await countLeases();
    await world.cause({ kind: 'kill', target, atMs: 0, forMs: 1_000 });
    while ((await countLeases()) <= before) await sleep(100);
  }

  const options = { runs: count, tenants: TENANTS, killEveryMs: 10_000, timeoutMs: 1_800_000, say };
  const ledger = await keepLedger({ pool, runs, kill }, options);
  const differences = [...ledger.differences, ...world.exits];
  if (differences.length === 0) await rm(world.logs, { recursive: true });
  return { ...ledger, differences };
}
