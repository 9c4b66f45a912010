import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '#shared/core/logger.ts';
import { createBackplane } from '#shared/messaging/backplane/index.ts';
import { workflowRuns } from '#shared/messaging/queues/workflow-runs.ts';
import { readConfig } from '#shared/process/config.ts';
import { type ChaosClient, createChaosClient, eventKey } from './client.ts';
import { describeFault } from './faults.ts';
import { type Acknowledged, judge, openRuns, type Paused } from './judge.ts';
import { findLeft } from './left.ts';
import { answerQuestions } from './person.ts';
import { eventsOf, type PlannedStart, type Program, planProgram } from './program.ts';
import { startCounterService } from './service.ts';
import { judgeFromOutside, startFromOutside } from './triggers.ts';
import { startWorld, type World } from './world.ts';

export interface ChaosOptions {
  seed: number;
  /** How long runs are started and faults begin. */
  seconds: number;
  backplane: 'postgres' | 'redis';
  /** How long the runs may take to end after the last fault. */
  timeoutMs: number;
  say(line: string): void;
}

export interface ChaosResult {
  /** Differences from the model; empty if there are none. */
  differences: string[];
  runs: number;
  faults: number;
  /** From the end of the last fault until every run had ended. */
  settledMs: number;
}

/** Runs a program under faults on real processes, waits until every run has ended, and compares the end state with the model. */
export async function runChaos({ seed, seconds, backplane, timeoutMs, say }: ChaosOptions): Promise<ChaosResult> {
  const isRedis = backplane === 'redis';
  const program = planProgram(seed, { seconds, isRedis });
  const { shapes, starts, leaseSeconds } = program;
  const count = starts.reduce((sum, { runs }) => sum + runs.length, 0);
  say(
    `seed ${seed} on ${backplane}: ${count} runs, ${program.faults.length} faults, ${program.pauses.length} pauses, leases of ${leaseSeconds} s`,
  );
  await using service = await startCounterService();
  await using world = await startWorld({ isRedis, leaseSeconds });
  const client = await createChaosClient(world.apiURL, { shapes, serviceURL: service.url });

  // While faults go on, a run may take as long as they do.
  const endsBy = performance.now() + seconds * 1_000 + 2 * timeoutMs;
  const acknowledged: Acknowledged[] = [];
  const errors: string[] = [];
  const trying = (work: Promise<void>) => work.catch((error) => void errors.push(String(error)));
  await using _person = answerQuestions(world, client);
  const starting = starts.map((start, index) =>
    trying(execute(client, { start, key: `chaos-${index}`, shapes, acknowledged, endsBy })),
  );
  let deliveries = 0;
  const outside = trying(
    startFromOutside(client, seconds).then((count) => {
      deliveries = count;
    }),
  );
  const pauses: Paused[] = [];
  const pausing = trying(pauseNext(client, program, pauses));
  const faults = program.faults.map(async (fault) => {
    await sleep(fault.atMs);
    say(describeFault(fault));
    await world.cause(fault);
  });
  await Promise.all(faults);
  const over = performance.now();
  say('the last fault is over');
  await pausing;
  await Promise.all([...starting, outside]);
  say(`${acknowledged.length} runs are acknowledged`);
  const open = await waitForEnd(world, { timeoutMs, say });
  const settledMs = Math.round(performance.now() - over);
  say(
    `${open.length} runs are open ${(settledMs / 1000).toFixed(1)} s after the last fault; ${service.repeated} calls were repeated`,
  );
  say(await durations(world.pool));
  const left = await waitUntilTidy(world, { timeoutMs: leaseSeconds * 4_000 });
  const { handlerID, triggered } = client;
  const others = Object.values(triggered);
  const differences = [
    ...errors,
    ...world.exits,
    ...open.map((line) => `still open: ${line}`),
    ...left,
    ...(await judge(world.pool, { shapes, acknowledged, counters: service.counters, handlerID, others, pauses })),
    ...(await judgeFromOutside(world.pool, { triggered, deliveries })),
  ];
  if (differences.length === 0) await rm(world.logs, { recursive: true });
  else say(`the logs of the processes are in ${world.logs}`);
  return { differences, runs: acknowledged.length, faults: program.faults.length, settledMs };
}

interface Execution {
  start: PlannedStart;
  key: string;
  shapes: Program['shapes'];
  acknowledged: Acknowledged[];
  /** When every run must have ended, by `performance.now()`. */
  endsBy: number;
}

/** Starts runs when it is time, sends their events, and does with them what was planned. */
async function execute(client: ChaosClient, execution: Execution): Promise<void> {
  const { start, key, shapes, acknowledged, endsBy } = execution;
  await sleep(start.atMs);
  const sending = start.runs.map(async ({ shape, eventsAfterMs }, at) => {
    await sleep(eventsAfterMs);
    for (const event of eventsOf(shapes, shape)) await client.send({ ...event, key: eventKey(key, at) });
  });
  const ids = await client.start(start, key);
  const begun = start.runs.map((run, at): Acknowledged => ({ id: ids[at] ?? '', run }));
  acknowledged.push(...begun);
  // One that cannot be repeated must not hide that others of its batch were.
  const met = await Promise.allSettled(
    begun.map(async (one) => void acknowledged.push(...(await meetFate(client, one, endsBy)))),
  );
  await Promise.all(sending);
  for (const one of met) if (one.status === 'rejected') throw one.reason;
}

/** Cancels or repeats a run, if that was planned. Answers the run that repeats it. */
async function meetFate(client: ChaosClient, begun: Acknowledged, endsBy: number): Promise<Acknowledged[]> {
  const { id, run } = begun;
  const { fate } = run;
  if (fate.kind === 'cancel') {
    await sleep(fate.afterMs);
    begun.statusAtCancel = await client.cancel(id);
  }
  if (fate.kind !== 'repeat') return [];
  while (!(await client.hasEnded(id))) {
    if (performance.now() > endsBy) throw new Error(`run ${id} has not ended, and cannot be repeated`);
    await sleep(500);
  }
  const repeated = await client.repeat(id, fate.from, `again-${id}`);
  return [{ id: repeated, run: { ...run, fate: { kind: 'end' } }, isRest: fate.from === 'last' }];
}

async function durations(pool: World['pool']): Promise<string> {
  const { rows } = await pool.query<{ half: number; most: number; longest: number }>(
    `select percentile_cont(0.5) within group (order by seconds) as half,
       percentile_cont(0.99) within group (order by seconds) as most, max(seconds) as longest
     from (select extract(epoch from completed_at - created_at)::float8 as seconds
           from workflow_instance where completed_at is not null) as run`,
  );
  const { half = 0, most = 0, longest = 0 } = rows[0] ?? {};
  return `a run took ${half.toFixed(1)} s (p50), ${most.toFixed(1)} s (p99), at most ${longest.toFixed(1)} s`;
}

/** One pause of workflows at a time, and beside it one of the tenant, so that each ends by its own resume. */
async function pauseNext(client: ChaosClient, { pauses }: Program, paused: Paused[]): Promise<void> {
  const began = performance.now();
  const isOfTenant = ({ shape }: Program['pauses'][number]) => shape === null;
  const rounds = [pauses.filter(isOfTenant), pauses.filter((pause) => !isOfTenant(pause))];
  await Promise.all(
    rounds.map(async (round) => {
      for (const { atMs, forMs, shape } of round) {
        await sleep(Math.max(0, atMs - (performance.now() - began)));
        await client.pause(shape);
        const from = new Date();
        await sleep(forMs);
        paused.push({ workflowID: shape === null ? null : (client.workflowIDs[shape] ?? null), from, to: new Date() });
        await client.resume(shape);
      }
    }),
  );
}

async function waitForEnd(
  { pool }: World,
  { timeoutMs, say }: Pick<ChaosOptions, 'timeoutMs' | 'say'>,
): Promise<string[]> {
  const began = performance.now();
  for (let told = 1; ; ) {
    const open = await openRuns(pool).catch((error) => [String(error)]);
    const ms = performance.now() - began;
    if (open.length === 0 || ms > timeoutMs) return open;
    if (ms > told * TELL_MS) {
      told += 1;
      say(`${open.length} runs are open, the first of them ${open[0]}`);
    }
    await sleep(250);
  }
}

const TELL_MS = 15_000;

/** Waits until tables and the queue hold nothing of runs that have ended. */
async function waitUntilTidy({ env, pool }: World, { timeoutMs }: { timeoutMs: number }): Promise<string[]> {
  await using backplane = await createBackplane(readConfig(env).backplane, createLogger({ level: 'silent' }));
  const end = performance.now() + timeoutMs;
  for (;;) {
    const counts = await backplane.queue(workflowRuns.name).getJobCounts('active', 'wait', 'prioritized', 'delayed');
    const jobs = Object.entries(counts).filter(([, count]) => count > 0);
    const left = [
      ...jobs.map(([state, count]) => `${count} jobs are ${state}, and no run is open`),
      ...(await findLeft(pool)),
    ];
    if (left.length === 0 || performance.now() > end) return left;
    await sleep(250);
  }
}
