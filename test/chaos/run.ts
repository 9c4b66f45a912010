import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createBackplane } from '#shared/backplane/index.ts';
import { readConfig } from '#shared/config.ts';
import { createLogger } from '#shared/logger.ts';
import { workflowRuns } from '#shared/queues/workflow-runs.ts';
import { createChaosClient } from './client.ts';
import { type Acknowledged, judge, openRuns } from './judge.ts';
import { answerQuestions } from './person.ts';
import { describeFault, planProgram } from './program.ts';
import { startCounterService } from './service.ts';
import { startWorld, type World } from './world.ts';

export interface ChaosOptions {
  seed: number;
  /** How long runs are started and faults begin. */
  seconds: number;
  backplane: 'postgres' | 'redis';
  /** How long the runs may take to end after the last fault. */
  patienceMs: number;
  say(line: string): void;
}

export interface ChaosResult {
  /** What differs from the model; empty if nothing does. */
  differences: string[];
  runs: number;
  faults: number;
  /** From the end of the last fault until every run had ended. */
  settledMs: number;
}

/** Runs a program under faults on real processes, waits until every run has ended, and compares the end state with the model. */
export async function runChaos({ seed, seconds, backplane, patienceMs, say }: ChaosOptions): Promise<ChaosResult> {
  const isRedis = backplane === 'redis';
  const program = planProgram(seed, { seconds, isRedis });
  say(
    `seed ${seed} on ${backplane}: ${program.runs.length} runs, ${program.faults.length} faults, leases of ${program.leaseSeconds} s`,
  );
  await using service = await startCounterService();
  await using world = await startWorld({ isRedis, leaseSeconds: program.leaseSeconds });
  const client = await createChaosClient(world.apiURL, { shapes: program.shapes, serviceURL: service.url });

  const acknowledged: Acknowledged[] = [];
  const errors: string[] = [];
  await using _person = answerQuestions(world, client);
  const starts = program.runs.map(async (run, index) => {
    await sleep(run.atMs);
    try {
      acknowledged.push({ id: await client.start(run, `chaos-${index}`), run });
    } catch (error) {
      errors.push(String(error));
    }
  });
  const faults = program.faults.map(async (fault) => {
    await sleep(fault.atMs);
    say(describeFault(fault));
    await world.cause(fault);
  });
  await Promise.all(faults);
  const over = performance.now();
  say('the last fault is over');
  await Promise.all(starts);
  say(`${acknowledged.length} runs are acknowledged`);
  const open = await waitForEnd(world, patienceMs);
  const settledMs = Math.round(performance.now() - over);
  say(
    `${open.length} runs are open ${(settledMs / 1000).toFixed(1)} s after the last fault; ${service.repeated} calls were repeated`,
  );
  const differences = [
    ...errors,
    ...world.exits,
    ...open.map((line) => `still open: ${line}`),
    ...(await judge(world.pool, { program, acknowledged, counters: service.counters })),
    ...(await jobsLeft(world, { patienceMs: program.leaseSeconds * 4_000 })),
  ];
  if (differences.length === 0) await rm(world.logs, { recursive: true });
  else say(`the logs of the processes are in ${world.logs}`);
  return { differences, runs: acknowledged.length, faults: program.faults.length, settledMs };
}

async function waitForEnd({ pool }: World, patienceMs: number): Promise<string[]> {
  const end = performance.now() + patienceMs;
  for (;;) {
    const open = await openRuns(pool).catch((error) => [String(error)]);
    if (open.length === 0 || performance.now() > end) return open;
    await sleep(250);
  }
}

/** Jobs that stay in the queue although every run has ended. */
async function jobsLeft({ env }: World, { patienceMs }: { patienceMs: number }): Promise<string[]> {
  await using backplane = await createBackplane(readConfig(env).backplane, createLogger({ level: 'silent' }));
  const end = performance.now() + patienceMs;
  for (;;) {
    const counts = await backplane.queue(workflowRuns.name).getJobCounts('active', 'wait', 'prioritized', 'delayed');
    const left = Object.entries(counts).filter(([, count]) => count > 0);
    if (left.length === 0) return [];
    if (performance.now() > end) return left.map(([state, count]) => `${count} jobs are ${state}, and no run is open`);
    await sleep(250);
  }
}
