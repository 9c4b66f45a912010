import { setTimeout as sleep } from 'node:timers/promises';
import { newID } from '#shared/core/ids.ts';
import { createLogger } from '#shared/core/logger.ts';
import { createBackplane } from '#shared/messaging/backplane/index.ts';
import { createProducer } from '#shared/messaging/producer.ts';
import { readConfig } from '#shared/process/config.ts';
import { createRuns } from '#shared/runs/runs.ts';
import { createEvents } from '#shared/runs/send-event.ts';
import { addWaitingRuns } from '#test/support/waiting-runs.ts';
import { createSweep } from '#workers/engine/recovery/sweep.ts';
import { createRunCount } from '#workers/process/run-gauge.ts';
import { type BenchEnvironment, percentile } from './environment.ts';
import type { Figure, Row } from './row.ts';

const SIZES = [0, 100_000, 1_000_000];
const ROUNDS = 20;

/** Cost of the sweep beside runs that wait or are queued: the sum of its statements, and each of them, as medians of its rounds. */
export const p15: Row = async (environment) => {
  const figures: Figure[] = [];
  const settings = await environment.settings();
  await environment.pool.query(
    `insert into worker_session (id, expires_at, slots, version) values ($1, now() + interval '1 hour', 50, 'bench')`,
    [newID()],
  );
  let filled = 0;
  let floor = Number.NaN;
  for (const size of SIZES) {
    await addWaitingRuns(environment, size - filled);
    filled = size;
    const statements = await measureSweep(environment);
    const total = statements.reduce((sum, { ms }) => sum + ms, 0);
    if (size === 0) floor = total;
    figures.push({
      figure: `a round beside ${size} runs`,
      value: round(total),
      unit: 'ms p50',
      floor: round(floor),
      ratio: round(total / floor),
      settings: { ...settings, statements: Object.fromEntries(statements.map(({ name, ms }) => [name, round(ms)])) },
    });
    figures.push(await measureCount(environment, size));
  }
  return figures;
};

/** The statements of a scrape that counts runs, and the count of all of them at once, which it does without. */
async function measureCount({ pool, settings }: BenchEnvironment, size: number): Promise<Figure> {
  const times: number[] = [];
  const timed = async <T>(work: () => Promise<T>): Promise<T> => {
    const began = performance.now();
    const answer = await work();
    times.push(performance.now() - began);
    return answer;
  };
  const measured = new Proxy(pool, {
    get: (target, key) =>
      key === 'query' ? (statement: string) => timed(() => target.query(statement)) : Reflect.get(target, key, target),
  });
  const count = createRunCount(measured);
  for (let scrape = 0; scrape < 10; scrape += 1) {
    await count();
    // A scrape within a second gets the count before it.
    await sleep(1_010);
  }
  const [value, most] = [percentile(times, 50), percentile(times, 100)];
  const whole: number[] = [];
  for (let n = 0; n < 3; n += 1) {
    const began = performance.now();
    await pool.query('select class, count(*) from workflow_instance where completed_at is null group by 1');
    whole.push(performance.now() - began);
  }
  const floor = percentile(whole, 50);
  return {
    figure: `a statement that counts runs beside ${size}`,
    value: round(value),
    unit: 'ms p50',
    floor: round(floor),
    ratio: round(value / floor),
    settings: { ...(await settings()), most: round(most) },
  };
}

/** Runs rounds of the sweep in this process, beside a full window of runs that no worker claims. */
export async function measureSweep({ env, pool }: BenchEnvironment): Promise<{ name: string; ms: number }[]> {
  const config = readConfig(env);
  const logger = createLogger({ level: 'warn' });
  await using backplane = await createBackplane(config.backplane, logger);
  const times = new Map<string, number[]>();
  const measured = new Proxy(pool, {
    get(target, key) {
      if (key !== 'query') return Reflect.get(target, key, target);
      return async (statement: string | { name?: string; text: string }, values?: unknown[]) => {
        const began = performance.now();
        const answer = await target.query(statement as string, values);
        const name =
          typeof statement === 'string'
            ? statement.replace(/\s+/g, ' ').trim().slice(0, 60)
            : (statement.name ?? statement.text);
        times.set(name, [...(times.get(name) ?? []), performance.now() - began]);
        return answer;
      };
    },
  });
  const producer = createProducer(backplane);
  const runs = createRuns({ pool: measured, dispatchPool: measured, producer, messages: backplane.messages, logger });
  await using sweep = createSweep({
    pool: measured,
    leasePool: measured,
    runs,
    events: createEvents({ pool: measured, runs, rights: { may: async () => true } }),
    producer,
    backplane,
    logger,
    leaseMs: config.worker.leaseMs,
    onPressure: () => undefined,
  });
  // The first round fills the window.
  await sweep.once();
  times.clear();
  for (let round = 0; round < ROUNDS; round += 1) await sweep.once();
  return [...times].map(([name, all]) => ({ name, ms: percentile(all, 50) }));
}

function round(ms: number): number {
  return Number(ms.toFixed(3));
}
