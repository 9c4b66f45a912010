import { newID } from '#shared/core/ids.ts';
import { createLogger } from '#shared/core/logger.ts';
import { textArray } from '#shared/db/array.ts';
import { createCommitPool, createDispatchPool, type PoolClient } from '#shared/db/pool.ts';
import { acceptRuns, insertRuns, type NewRun } from '#shared/runs/accept.ts';
import { createDispatcher } from '#shared/runs/dispatch/dispatcher.ts';
import { createClaims } from '#workers/engine/claim/claim.ts';
import { COMMIT, COMMIT_ONE } from '#workers/engine/commit/sql.ts';
import { type BenchEnvironment, percentile } from './environment.ts';

/** The floor without an engine: the statements that the engine sends, with the rows that it writes. */

const OUTPUT = '{"output":{"matched":"yes","label":null,"success":true}}';
const logger = createLogger({ level: 'warn' });

/** One outcome of a run. */
interface BareStep {
  id: string;
  /** The number of the last event before it. */
  from: number;
  nth: number;
  /** It also ends the run. */
  isLast?: boolean;
}

/** Numbers of events of a step: the outcome, and the start of the next node or the end of the run. */
export const NUMBERS = 2;

/** The fenced commit of one step of each of these runs. */
export async function commitSteps(client: PoolClient, leaseID: string, steps: readonly BareStep[]): Promise<void> {
  const events = steps.flatMap(({ id, from, nth, isLast }): BareEvent[] => {
    const outcome = { id, node: `n${nth}`, status: 'SUCCESS', exit: 'yes', payload: OUTPUT };
    const end = { id, node: null, status: 'COMPLETED', exit: null, payload: null, started: null, seq: from + NUMBERS };
    return isLast
      ? [{ ...outcome, started: null, seq: from + 1 }, end]
      : [{ ...outcome, started: JSON.stringify([`n${nth + 1}`]), seq: from + NUMBERS }];
  });
  const { rowCount } = await client.query(statementOf(leaseID, steps, events));
  if (rowCount !== steps.length) throw new Error('The commit without an engine did not commit');
}

interface BareEvent {
  id: string;
  seq: number;
  node: string | null;
  status: string;
  exit: string | null;
  payload: string | null;
  started: string | null;
}

/** For one event of a run that goes on the engine has a cheaper statement. */
function statementOf(leaseID: string, steps: readonly BareStep[], events: readonly BareEvent[]) {
  const ofRuns = steps.map(({ id, from, isLast }) => [
    id,
    1,
    from,
    from + NUMBERS,
    isLast ? 'COMPLETED' : 'RUNNING',
    isLast ? 1 : 0,
    0,
    null,
    null,
  ]);
  const ofEvents = events.map(({ id, seq, node, status, exit, payload, started }) => [
    id,
    seq,
    node,
    0,
    1,
    status,
    exit,
    payload,
    null,
    started,
  ]);
  const [step] = steps;
  // A step that is not the last has one event.
  if (step && !step.isLast && steps.length === 1) {
    const { id, from } = step;
    return {
      name: 'bare_commit_one',
      text: COMMIT_ONE,
      values: [leaseID, id, 1, from, from + NUMBERS, 0, ...(ofEvents[0] ?? [])],
    };
  }
  return { name: 'bare_commit', text: COMMIT, values: [leaseID, ...toArrays(ofRuns), ...toArrays(ofEvents)] };
}

/** An array for each column. */
function toArrays(rows: readonly (string | number | null)[][]): string[] {
  return (rows[0] ?? []).map((_, column) => textArray(rows.map((row) => row[column]?.toString() ?? null)));
}

/** Begins the lease of a worker that does not exist. */
export async function bareLease({ pool }: BenchEnvironment, slots: number): Promise<string> {
  const leaseID = newID();
  await pool.query(
    `insert into worker_session (id, expires_at, slots, version) values ($1, now() + interval '1 hour', $2, 'floor')`,
    [leaseID, slots],
  );
  return leaseID;
}

export function endLease({ pool }: BenchEnvironment, leaseID: string): Promise<unknown> {
  return pool.query('update worker_session set ended_at = now() where id = $1', [leaseID]);
}

function newRun({ tenantID }: BenchEnvironment, versionID: string): NewRun {
  return {
    tenantID,
    workflowID: null,
    versionID,
    caller: { type: 'system', id: tenantID, origin: 'direct' },
    input: {},
    timeoutMs: 3_600_000,
  };
}

/**
 * Loops whose steps are grouped into statements, two in flight, like the engine's committer, on connections with the engine's settings: with the
 * planner's defaults the fenced commit of 25 steps costs three times as much in a young table. `write` writes the next step of some loops
 * and answers those that go on. Answers how long it took, in seconds.
 */
export async function grouped(
  { url, atOnce }: { url: string; atOnce: number },
  write: (client: PoolClient, members: number[]) => Promise<number[]>,
): Promise<number> {
  await using resources = new AsyncDisposableStack();
  const pool = createCommitPool({ url, poolSize: 2 }, logger, 'floor');
  resources.defer(() => pool.end());
  const clients = await Promise.all([pool.connect(), pool.connect()]);
  resources.defer(() => {
    for (const client of clients) client.release();
  });
  let idle = Array.from({ length: atOnce }, (_, i) => i);
  let left = atOnce;
  const began = performance.now();
  await Promise.all(
    clients.map(async (client) => {
      while (left > 0) {
        const members = idle.splice(0, Math.max(1, Math.min(idle.length, atOnce / 2)));
        if (members.length === 0) {
          await new Promise((resolve) => setImmediate(resolve));
          continue;
        }
        const goingOn = await write(client, members);
        left -= members.length - goingOn.length;
        idle = idle.concat(goingOn);
      }
    }),
  );
  return (performance.now() - began) / 1000;
}

/**
 * Steps/s of whole runs: accepted together, then dispatched and claimed as slots become free, with a fenced commit for each step, the last of which
 * ends the run. No worker may be alive, which would take them.
 */
export async function bareRuns(
  environment: BenchEnvironment,
  { versionID, runs, steps, atOnce }: { versionID: string; runs: number; steps: number; atOnce: number },
): Promise<number> {
  const { pool, env } = environment;
  const url = env.DATABASE_URL ?? '';
  await using resources = new AsyncDisposableStack();
  const leaseID = await bareLease(environment, atOnce);
  resources.defer(async () => void (await endLease(environment, leaseID)));
  const dispatchPool = createDispatchPool({ url, poolSize: 3 }, logger, 'floor');
  resources.defer(() => dispatchPool.end());
  const claims = createClaims(dispatchPool, () => leaseID);
  const dispatched: string[] = [];
  const dispatcher = createDispatcher({
    pool: dispatchPool,
    addJobs: async (more) => void dispatched.push(...more.map(({ id }) => id)),
    runs: { end: async () => undefined, wake: async () => undefined },
    logger,
  });
  const slots: ({ id: string; steps: number } | undefined)[] = Array.from({ length: atOnce }, () => undefined);
  let unclaimed = runs;

  async function claimFor(empty: readonly number[]): Promise<void> {
    if (dispatched.length < Math.min(empty.length, unclaimed)) await dispatcher.dispatch();
    const ids = dispatched.splice(0, empty.length);
    unclaimed -= ids.length;
    const rows = await Promise.all(ids.map((instanceID) => claims.claim({ instanceID, epoch: 1 })));
    for (const [index, row] of rows.entries()) {
      if (!row) throw new Error('The claim without an engine did not claim');
      slots[empty[index] ?? -1] = { id: row.id, steps: 0 };
    }
  }

  const began = performance.now();
  await insertRuns(
    pool,
    Array.from({ length: runs }, () => newRun(environment, versionID)),
  );
  await grouped({ url, atOnce }, async (client, members) => {
    const empty = members.filter((member) => !slots[member]);
    if (empty.length > 0 && unclaimed > 0) await claimFor(empty);
    const running = members.flatMap((member) => slots[member] ?? []);
    const written = running.map(({ id, steps: done }) => ({
      id,
      from: done * NUMBERS,
      nth: done,
      isLast: done === steps - 1,
    }));
    if (written.length > 0) await commitSteps(client, leaseID, written);
    for (const member of members) {
      const run = slots[member];
      if (run) run.steps += 1;
      if (run?.steps === steps) slots[member] = undefined;
    }
    return members.filter((member) => slots[member] || unclaimed > 0);
  });
  return Math.round((runs * steps) / ((performance.now() - began) / 1000));
}

/** The shortest way of a run through Postgres, one after the other: accepted, claimed, and a fenced commit for each step. In ms p50. */
export async function serialRun(
  environment: BenchEnvironment,
  versionID: string,
  steps: number,
): Promise<{ commit: number; run: number }> {
  const url = environment.env.DATABASE_URL ?? '';
  await using resources = new AsyncDisposableStack();
  const leaseID = await bareLease(environment, 0);
  resources.defer(async () => void (await endLease(environment, leaseID)));
  const dispatchPool = createDispatchPool({ url, poolSize: 3 }, logger, 'floor');
  resources.defer(() => dispatchPool.end());
  const pool = createCommitPool({ url, poolSize: 1 }, logger, 'floor');
  resources.defer(() => pool.end());
  const client = await pool.connect();
  resources.defer(() => client.release());
  const claims = createClaims(dispatchPool, () => leaseID);
  const times = { commits: [] as number[], runs: [] as number[] };
  for (let nth = 0; nth < SERIAL_RUNS; nth += 1) {
    const began = performance.now();
    // Handed over by the insert, since the fleet is idle. So no worker dispatches it, and no job is added.
    const [accepted] = await acceptRuns(client, [newRun(environment, versionID)]);
    const row = accepted && (await claims.claim({ instanceID: accepted.id, epoch: 1 }));
    if (!row) throw new Error('The claim without an engine did not claim');
    for (let step = 0; step < steps; step += 1) {
      const since = performance.now();
      await commitSteps(client, leaseID, [{ id: row.id, from: step * NUMBERS, nth: step, isLast: step === steps - 1 }]);
      times.commits.push(performance.now() - since);
    }
    times.runs.push(performance.now() - began);
  }
  const round = (value: number) => Number(value.toFixed(3));
  return { commit: round(percentile(times.commits, 50)), run: round(percentile(times.runs, 50)) };
}

const SERIAL_RUNS = 100;
