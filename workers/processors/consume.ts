import { setTimeout as sleep } from 'node:timers/promises';
import { UnrecoverableError } from 'bullmq';
import type { z } from 'zod';
import type { Backplane, JobWorker, Messages } from '#shared/backplane/index.ts';
import type { KeyRing } from '#shared/crypto.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { TenantTurns } from '#shared/db/tenant-creators.ts';
import { AppError, toAppError, toFailedReason } from '#shared/errors.ts';
import type { Lane } from '#shared/lanes.ts';
import type { Logger } from '#shared/logger.ts';
import { parseValue } from '#shared/parse-value.ts';
import type { AnyQueue } from '#shared/queues/index.ts';
import { describeIssues } from '#shared/workflow/issues.ts';
import type { Reach } from '../connectors/reach.ts';
import type { Engine } from '../engine/engine.ts';
import type { Datasources } from '../queries/datasources.ts';
import type { Queries } from '../queries/queries.ts';
import type { Cancels } from './cancels.ts';

export interface ProcessorContext extends Reach {
  engine: Engine;
  pool: Pool;
  secrets: KeyRing;
  messages: Messages;
  cancels: Cancels;
  turns: TenantTurns;
  /** Places for the questions that this worker answers at once, of all queues. */
  answering: Lane;
  datasources: Datasources;
  queries: Queries;
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
  const { name, maxStalledCount } = definition;

  const worker = backplane.worker(
    name,
    async (job, signal = new AbortController().signal) => {
      try {
        // An old job must not do harm.
        const payload = parseValue(definition.payload, job.data);
        if (!payload.success)
          throw new AppError('VALIDATION_ERROR', `Invalid job in the queue ${name}: ${describeIssues(payload.issues)}`);
        return definition.result.parse(
          await processor({ payload: payload.data as z.output<D['payload']>, signal }, context),
        );
      } catch (error) {
        logger.error({ err: error, queue: name, jobID: job.id }, 'job failed');
        const reason = toFailedReason(error);
        throw toAppError(error).retry ? new Error(reason) : new UnrecoverableError(reason);
      }
    },
    { concurrency, maxStalledCount, leaseMs },
  );
  void keepRunning(worker, { name, logger });
  return worker;
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
