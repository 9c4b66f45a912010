import type { Backplane, JobWorker } from '#shared/backplane/index.ts';
import type { Config } from '#shared/config.ts';
import type { Pool } from '#shared/db/pool.ts';
import { createTenantTurns } from '#shared/db/tenant-creators.ts';
import { createLane } from '#shared/lanes.ts';
import type { Logger } from '#shared/logger.ts';
import { addHeldBytes, addProcessMetrics, createMetrics, serveMetrics, withChild } from '#shared/metrics.ts';
import type { QueueDefinition } from '#shared/queues/define-queue.ts';
import { type AnyQueue, type QueueName, queues } from '#shared/queues/index.ts';
import { workflowRuns } from '#shared/queues/workflow-runs.ts';
import { addHandOverMetrics } from '#shared/run-metrics.ts';
import type { Runs } from '#shared/runs.ts';
import { createEvents } from '#shared/workflow-events.ts';
import { failStaleRuns } from './engine/boot.ts';
import type { Engine } from './engine/engine.ts';
import { consumersFor } from './engine/places.ts';
import { createSuspects } from './engine/suspects.ts';
import { createSweep, type Sweep } from './engine/sweep.ts';
import { createFailureKeeper } from './failure-handlers.ts';
import { addEngineMetrics, addWorkerMetrics } from './metrics.ts';
import { openEngine } from './open-engine.ts';
import { createCancels } from './processors/cancels.ts';
import { consume, type Processor, type ProcessorContext } from './processors/consume.ts';
import { processors } from './processors/index.ts';
import { createJobStats } from './processors/job-stats.ts';
import { startRetention } from './retention/retire.ts';
import { createBatchKeeper } from './run-batches.ts';
import { createKeeper } from './tenant-database/keeper.ts';

export interface WorkerContext extends AsyncDisposable {
  readonly leaseID: string;
  readonly engine: Engine;
  readonly runs: Runs;
  readonly sweep: Sweep;
  readonly backplane: Backplane;
  readonly pool: Pool;
  readonly metricsPort: number | null;
}

export interface WorkerOptions {
  config: Config;
  logger: Logger;
  /** Absent: all queues. */
  queueNames?: readonly QueueName[];
}

/** Creates a worker from its config. Disposing it stops taking work, hands back its runs, and closes its connections. */
export async function createWorker({ config, logger, queueNames }: WorkerOptions): Promise<WorkerContext> {
  await using resources = new AsyncDisposableStack();
  const advancesRuns = !queueNames || queueNames.includes(workflowRuns.name);
  const opened = await openEngine(resources, {
    config,
    logger,
    name: 'gantry.worker',
    leaseSlots: advancesRuns ? config.worker.slots : 0,
    onFinished: () => sweep.refillSoon(),
  });
  const {
    pool,
    leasePool,
    backplane,
    producer,
    runs,
    engine,
    lease,
    reach,
    servers,
    secrets,
    datasources,
    queries,
    bytes,
  } = opened;
  const sweep = createSweep({
    pool,
    leasePool,
    runs,
    producer,
    backplane,
    logger,
    leaseMs: config.worker.leaseMs,
    events: createEvents({ pool, runs, rights: opened.rights }),
    onPressure: (waiting) => engine.setPressure(waiting),
  });

  await failStaleRuns(pool, runs, config.worker.staleAfterMs, logger);
  await lease.open();
  resources.use(lease);
  resources.use(sweep);
  const context: ProcessorContext = {
    ...reach,
    engine,
    pool,
    secrets,
    messages: backplane.messages,
    cancels: resources.use(createCancels(backplane.messages)),
    turns: createTenantTurns(pool),
    jobs: createJobStats(config.metrics?.tenantIDs),
    answering: createLane({ ...ANSWERING, sharesByCreator: true }),
    bytes,
    datasources,
    queries,
    logger,
  };
  const suspects = advancesRuns ? resources.use(createSuspects({ pool, config, logger })) : undefined;
  const consumers = queues
    .filter(({ name }) => !queueNames || queueNames.includes(name))
    .map((definition) =>
      startConsumer(backplane, definition, {
        context,
        logger,
        concurrency: consumersOf(definition, config.worker.slots),
        leaseMs: config.worker.leaseMs,
      }),
    );
  // Disposed first: take no new jobs, then hand runs back, then wait for the jobs to end.
  resources.defer(async () => {
    await Promise.all(consumers.map((consumer) => consumer.pause(true)));
    await engine.drain();
    await Promise.all(consumers.map((consumer) => consumer.close()));
  });
  sweep.start();
  resources.use(createKeeper({ pool, runs, servers, secrets, messages: backplane.messages, logger }));
  resources.use(createBatchKeeper({ pool, runs, rights: opened.rights, logger }));
  resources.use(createFailureKeeper({ pool, runs, rights: opened.rights, logger }));
  resources.use(startRetention({ pool, settings: config.worker.retention, logger }));
  suspects?.start();
  const metrics = createMetrics(logger);
  const report = () => suspects?.metrics ?? {};
  const ofProcesses = withChild(metrics, { parent: 'worker', child: 'suspect', report });
  resources.use(addProcessMetrics(ofProcesses, opened.pools));
  addEngineMetrics(ofProcesses, opened);
  addHandOverMetrics(ofProcesses, runs);
  addHeldBytes(metrics, opened.bytes);
  const { answering, jobs } = context;
  addWorkerMetrics(metrics, { pool, sweep, backplane, answering, jobs });
  const listener = config.metrics && resources.use(await serveMetrics(metrics, config.metrics, logger));

  const owned = resources.move();
  return {
    get leaseID() {
      return lease.id;
    },
    engine,
    runs,
    sweep,
    backplane,
    pool,
    metricsPort: listener?.port ?? null,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Jobs of a queue at once in a worker. */
function consumersOf(definition: QueueDefinition, slots: number): number {
  return definition.name === workflowRuns.name ? consumersFor(slots) : (definition.concurrency ?? slots);
}

/** Questions that one worker answers at once. A place costs a connection to a tenant's server, and the memory of an answer. */
const ANSWERING = { places: 200, reserve: 20 };

function startConsumer(
  backplane: Backplane,
  definition: AnyQueue,
  options: { context: ProcessorContext; logger: Logger; concurrency: number; leaseMs: number },
): JobWorker {
  // Safe: the table pairs every queue with the processor of its type, and the name selects the pair.
  const processor = processors[definition.name] as Processor<AnyQueue>;
  return consume(backplane, { definition, processor, ...options });
}
