import { startPeriodicTask } from '#shared/concurrency/periodic-task.ts';
import { toAppError } from '#shared/core/errors.ts';
import { isJsonObject } from '#shared/core/json.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import type { ApiContext } from '../../context/context.ts';
import { reported } from '../../http/response/report-error.ts';
import type { InProcess } from '../../tools/in-process.ts';
import { applyImport, executeImport } from '../import/import.ts';
import { type Progress, watchingImport } from '../import/progress.ts';
import { rollBackImport } from '../rollback/rollback.ts';
import { type ClaimedJob, claimJob, endJob, giveUpJobs, type JobResponse, postponeJob, renewJob } from './store.ts';
import { startTelling } from './tell.ts';

/** Jobs at once in this process. Each holds a transaction, and its bundle. */
const MAX_CONCURRENT = 2;
const POLL_EVERY_MS = 1_000;
const RENEW_EVERY_MS = 2_000;
/** Delay of a job that was refused for now: with 503 or by a limit. */
const POSTPONED_SECONDS = 10;

/**
 * Runs waiting imports and rollbacks as requests of the users who created the jobs, with their permissions at that time. The job's id is
 * the idempotency key of the request, so a job whose process died after the commit, before it noted that, is not done twice.
 */
export function startImportJobs(context: ApiContext): AsyncDisposable {
  const { pool, logger } = context;
  let inProcess: Promise<InProcess> | undefined;
  const stopped = new AbortController();
  const running = new Set<Promise<void>>();

  function opened(): Promise<InProcess> {
    inProcess ??= openInProcess(context);
    return inProcess;
  }

  async function poll(): Promise<void> {
    await giveUpJobs(pool);
    while (running.size < MAX_CONCURRENT && !stopped.signal.aborted) {
      const job = await claimJob(pool);
      if (!job) return;
      const work = run(job).finally(() => running.delete(work));
      running.add(work);
    }
  }

  async function run(job: ClaimedJob): Promise<void> {
    const lost = new AbortController();
    const signal = AbortSignal.any([stopped.signal, lost.signal]);
    let progress: Progress | undefined;
    const report = startTelling(job, context);
    const renew = async () => {
      if (!(await renewJob(pool, job, progress))) lost.abort();
    };
    const every = { everyMs: RENEW_EVERY_MS, firstAfterMs: RENEW_EVERY_MS };
    await using _renewing = startPeriodicTask({ name: 'claim of an import job', ...every, run: renew }, logger);
    try {
      const answer = await watchingImport(
        (now) => {
          progress = now;
          report.progress(now);
        },
        async () => answerOf(job, { context, inProcess: await opened(), signal }),
      );
      if (progress) await renewJob(pool, job, progress);
      if (signal.aborted || mayRepeat(answer))
        await postponeJob(pool, job, stopped.signal.aborted ? 0 : POSTPONED_SECONDS);
      else if (await endJob(pool, job, answer)) report.ended(answer.status);
    } catch (error) {
      // The claim runs out, and a process starts the job again.
      logger.warn({ err: error, jobID: job.id }, 'an import job is begun anew');
    }
  }

  const polling = startPeriodicTask({ name: 'import jobs', everyMs: POLL_EVERY_MS, run: poll }, logger);
  return {
    async [Symbol.asyncDispose]() {
      stopped.abort();
      await polling[Symbol.asyncDispose]();
      await Promise.all(running);
    },
  };
}

/** Loads the routes at the first job: most processes never have one. */
async function openInProcess(context: ApiContext): Promise<InProcess> {
  const { createInProcess } = await import('../../tools/in-process.ts');
  return createInProcess(context, [executeImport, applyImport, rollBackImport]);
}

interface JobServices {
  context: ApiContext;
  inProcess: InProcess;
  signal: AbortSignal;
}

async function answerOf(
  { id, tenantID, creatorID: userID, apiKeyID, isPlanned, importID, request }: ClaimedJob,
  { context, inProcess, signal }: JobServices,
): Promise<JobResponse> {
  try {
    const text = context.secrets.open(request, sealedColumns.importRequest.context(id));
    const route = importID ? rollBackImport : isPlanned ? applyImport : executeImport;
    const url = route.path.replace(':tenantID', tenantID).replace(':importID', importID ?? '');
    const identity = { userID, email: null, ...(apiKeyID && { apiKeyID }) };
    const sent = await inProcess.send(
      { tenantID, who: { identity }, userAgent: 'gantry-import-job', requestID: id },
      { method: 'post', url, text, idempotencyKey: id, signal },
    );
    const answer = JSON.parse(sent.text);
    return { status: sent.status, body: isJsonObject(answer) ? answer : {} };
  } catch (error) {
    const { status } = toAppError(error);
    return { status, body: { success: false, error: { ...reported(context.logger, error, { jobID: id }) } } };
  }
}

function mayRepeat({ status, body }: JobResponse): boolean {
  return status === 503 || (isJsonObject(body.error) && body.error.code === 'RATE_LIMITED');
}
