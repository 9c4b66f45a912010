import { setTimeout as sleep } from 'node:timers/promises';
import { type Job, UnrecoverableError } from 'bullmq';
import type { z } from 'zod';
import type { Rights } from '#shared/access/policy/rights.ts';
import type { MemoryBudget } from '#shared/concurrency/memory-budget.ts';
import type { Semaphore } from '#shared/concurrency/semaphore.ts';
import { AppError, toAppError, toFailedReason } from '#shared/core/errors.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import { describeIssues } from '#shared/core/schema/issues.ts';
import { parseValue } from '#shared/core/schema/parse.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Backplane, JobWorker, Messages } from '#shared/messaging/backplane/index.ts';
import type { QueueDefinition } from '#shared/messaging/queues/define-queue.ts';
import type { AnyQueue } from '#shared/messaging/queues/index.ts';
import type { FlowKeys } from '#shared/tenants/creators.ts';
import type { AI } from '../ai/calls.ts';
import type { OutboundServices } from '../datasources/connectors/outbound-services.ts';
import type { Datasources } from '../datasources/queries/datasources.ts';
import type { Queries } from '../datasources/queries/queries.ts';
import type { Engine } from '../engine/engine.ts';
import type { CronScheduler } from '../triggers/cron/scheduler.ts';
import type { EventProcessing } from '../triggers/listeners/process-events.ts';
import type { Cancels } from './cancels.ts';
import { createRetention } from './job-retention.ts';
import type { JobStats } from './job-stats.ts';

export interface ProcessorContext extends OutboundServices {
  engine: Engine;
  events: EventProcessing;
  pool: Pool;
  secrets: KeyRing;
  messages: Messages;
  cancels: Cancels;
  flowKeys: FlowKeys;
  /** Permits for the requests that this worker answers at once, of all queues. */
  answering: Semaphore;
  jobs: JobStats;
  /** Budget of the memory for responses that this worker has at the same time. */
  bytes: MemoryBudget;
  datasources: Datasources;
  queries: Queries;
  ai: AI;
  rights: Rights;
  cron: Pick<CronScheduler, 'poll'>;
  backplane: Pick<Backplane, 'removeTimer'>;
  logger: Logger;
}

/** Handles the jobs of a queue. Safe to run twice; a job with nothing to do completes without an error. */
export type Processor<D extends AnyQueue> = (
  job: { payload: z.output<D['payload']>; signal: AbortSignal },
  context: ProcessorContext,
) => Promise<z.input<D['result']>>;

interface Consumption<D extends AnyQueue> {
  definition: D;
  processor: Processor<D>;
  concurrency: number;
  leaseMs: number;
  context: ProcessorContext;
  logger: Logger;
}

/** Consumes a queue: parses the payload, processes it, parses the result. The error and the queue decide about retries. */
export function consume<D extends AnyQueue>(
  backplane: Backplane,
  { definition, processor, concurrency, leaseMs, context, logger }: Consumption<D>,
): JobWorker {
  const { name, maxStalledCount, hasFewJobs } = definition;
  const keep = createKeep(definition, logger);
  const { ended, seconds, tenant } = context.jobs;

  function count(payload: z.output<D['payload']> | undefined, outcome: string, ms: number): void {
    const tenantID = payload && 'tenantID' in payload ? payload.tenantID : undefined;
    const labels = { queue: name, ...tenant.of(tenantID) };
    ended.add({ ...labels, outcome });
    seconds.add(labels, ms / 1000);
  }

  const worker = backplane.worker(
    name,
    async (job, signal = new AbortController().signal) => {
      const began = performance.now();
      let payload: z.output<D['payload']> | undefined;
      try {
        // A job of an earlier version may have another payload.
        const parsed = parseValue(definition.payload, job.data);
        if (!parsed.success)
          throw new AppError('VALIDATION_ERROR', `Invalid job in the queue ${name}: ${describeIssues(parsed.issues)}`);
        payload = parsed.data as z.output<D['payload']>;
        // Safe: `isRetained` gets a result that its own definition has parsed.
        const result = definition.result.parse(await processor({ payload, signal }, context));
        await keep(job, 'removeOnComplete', definition.isRetained(result as never) ? payload : undefined);
        // The board shows this result. The response to a request is not in it: that may be large, and is data of a tenant.
        const durationMs = Math.round(performance.now() - began);
        count(payload, result.outcome, durationMs);
        return { ...result, durationMs };
      } catch (error) {
        logger.error({ err: error, queue: name, jobID: job.id }, 'job failed');
        await keep(job, 'removeOnFail', payload);
        count(payload, 'failed', performance.now() - began);
        const reason = toFailedReason(error).slice(0, MAX_REASON);
        throw toAppError(error).retry ? new Error(reason) : new UnrecoverableError(reason);
      }
    },
    { concurrency, maxStalledCount, leaseMs, hasFewJobs },
  );
  void keepRunning(worker, { name, logger });
  return worker;
}

const MAX_REASON = 500;

/** Decides whether a job stays readable on the board after its end. Without a payload that may be read, it does not. */
function createKeep<D extends AnyQueue>(definition: D, logger: Logger) {
  const decide = { removeOnComplete: createRetention(), removeOnFail: createRetention() };
  // Safe: `readable` gets the payload that the same definition has parsed.
  const { name, readable }: QueueDefinition = definition;

  return async (job: Job, end: keyof typeof decide, payload: z.output<D['payload']> | undefined): Promise<void> => {
    // No stack is stored with the job, because the log has it.
    job.opts.stackTraceLimit = 0;
    job.opts[end] = true;
    if (payload === undefined) return;
    const retention = decide[end]();
    if (retention === true) return;
    try {
      if (readable) await job.updateData(readable(payload));
      job.opts[end] = retention;
    } catch (error) {
      logger.debug({ err: error, queue: name, jobID: job.id }, 'job is not kept for the board');
    }
  };
}

const RESTART_MS = 1_000;

/** Runs a consumer until it is closed; starts it again when it stops with an error, because Postgres or Redis is away. */
async function keepRunning(worker: JobWorker, { name, logger }: { name: string; logger: Logger }): Promise<void> {
  for (;;) {
    try {
      return await worker.run();
    } catch (error) {
      logger.warn({ err: error, queue: name }, 'consumer stopped; it is started again');
      await sleep(RESTART_MS);
    }
  }
}
