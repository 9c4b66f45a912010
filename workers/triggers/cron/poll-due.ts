import { bisect } from '#shared/concurrency/bisect.ts';
import { inTransaction, isRefusedStatement, type Pool, type PoolClient } from '#shared/db/pool.ts';
import { insertRuns } from '#shared/runs/accept.ts';
import type { TickOutcome } from '#shared/triggers/cron/job.ts';
import { createJobPoll, type JobPollNeeds } from './job-poll.ts';
import { memoizeRights } from './memoize-rights.ts';
import { insertTicks, lockJobs, readTicks, trimTicks, updateJobs, updateTicks } from './page.ts';

export interface PollNeeds extends JobPollNeeds {
  pool: Pool;
}

export interface PolledPage {
  /** Jobs that no other worker had locked. */
  locked: number;
  started: number;
  /** Outcomes of the ticks that were inserted. */
  outcomes: readonly TickOutcome[];
  /** Total lateness, in milliseconds, of the ticks that were fired in their time. */
  lateMs: number;
  /** The runs among the started ones that are of backfills. */
  backfilled: readonly { instanceID: string; cronJobID: string }[];
  /** Runs that the caller has to cancel, because a later tick replaces them. */
  toCancel: readonly string[];
}

/** The oldest ticks of a job are deleted about once for so many new ones: at random, so that nothing has to be counted. */
const TRIM_EVERY = 50;

/**
 * Polls a page of jobs: applies the ends of their runs, decides about the ticks that are due, and starts the work that may begin. One
 * transaction locks the jobs and writes everything, including the new runs, so a tick happens once wherever a worker dies.
 */
export async function pollJobs(needs: PollNeeds, ids: readonly string[]): Promise<PolledPage> {
  const parts: PolledPage[] = [];
  const attempt = async (pageIDs: readonly string[]) => {
    try {
      parts.push(await inTransaction(needs.pool, (client) => pollPage(needs, client, pageIDs)));
      return undefined;
    } catch (error) {
      if (isRefusedStatement(error)) return error;
      throw error;
    }
  };
  // If Postgres refuses a statement, the page is halved until the job is found, so that it does not delay the others.
  await bisect(ids, attempt, (_id, error) => {
    throw error;
  });
  const sum = (key: 'locked' | 'started' | 'lateMs') => parts.reduce((all, part) => all + part[key], 0);
  const outcomes = parts.flatMap((part) => part.outcomes);
  const toCancel = parts.flatMap((part) => part.toCancel);
  const backfilled = parts.flatMap((part) => part.backfilled);
  return { locked: sum('locked'), started: sum('started'), lateMs: sum('lateMs'), outcomes, backfilled, toCancel };
}

async function pollPage(needs: PollNeeds, client: PoolClient, ids: readonly string[]): Promise<PolledPage> {
  const jobs = await lockJobs(client, ids);
  if (jobs.length === 0) return { locked: 0, started: 0, outcomes: [], lateMs: 0, backfilled: [], toCancel: [] };
  const { ends, open } = await readTicks(
    client,
    jobs.map(({ id }) => id),
  );
  const shared = { ...needs, rights: memoizeRights(needs.rights) };
  const polls = [];
  for (const job of jobs) {
    const ofJob = (each: { cronJobID: string }) => each.cronJobID === job.id;
    const poll = createJobPoll(job, { ends: ends.filter(ofJob), open: open.filter(ofJob) });
    await poll.run(shared);
    polls.push(poll);
  }
  const isNew = await insertTicks(
    client,
    polls.flatMap((poll) => poll.inserted),
    polls.flatMap((poll) => poll.entries),
  );
  await updateTicks(
    client,
    polls.flatMap((poll) => poll.updated),
  );
  await updateJobs(client, jobs);
  await trimTicks(
    client,
    polls.flatMap((poll) => (poll.inserted.length > TRIM_EVERY * Math.random() ? [poll.jobID] : [])),
  );
  const runs = polls.flatMap((poll) => poll.runsOf(isNew));
  if (runs.length > 0) await insertRuns(client, runs);
  const toCancel = polls.flatMap((poll) => poll.toCancel);
  if (toCancel.length > 0) await client.query(NOTE_CANCELS, [toCancel]);
  const fresh = polls.flatMap((poll) => poll.inserted.filter(({ id }) => isNew.has(id)).map(poll.lateness));
  const outcomes = fresh.map(({ outcome }) => outcome);
  const lateMs = fresh.reduce((sum, tick) => sum + tick.lateMs, 0);
  const backfilled = polls.flatMap((poll) => poll.backfilled);
  return { locked: jobs.length, started: runs.length, outcomes, lateMs, backfilled, toCancel };
}

// If this process dies before it cancels the runs, the engine's sweep cancels them by these rows.
const NOTE_CANCELS = `insert into run_notice (instance_id, kind) select unnest($1::uuid[]), 'cancel'`;
