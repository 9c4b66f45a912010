import { createSemaphore } from '#shared/concurrency/semaphore.ts';
import type { Logger } from '#shared/core/logger.ts';
import { addMemoryBudgetMetrics, addProcessMetrics, createMetrics, withChild } from '#shared/core/metrics.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Backplane, JobWorker } from '#shared/messaging/backplane/index.ts';
import type { QueueDefinition } from '#shared/messaging/queues/define-queue.ts';
import { type AnyQueue, type QueueName, queues } from '#shared/messaging/queues/index.ts';
import { listenerEvents } from '#shared/messaging/queues/listener-events.ts';
import { workflowRuns } from '#shared/messaging/queues/workflow-runs.ts';
import type { Config } from '#shared/process/config.ts';
import { type ProcessPages, servePages } from '#shared/process/health-server.ts';
import { startSecretsCheck } from '#shared/process/open-key-ring.ts';
import { type Readiness, readReadiness } from '#shared/process/readiness.ts';
import { readHold, waitUntilResumed } from '#shared/process/restore-hold.ts';
import { createCompletionNotices } from '#shared/runs/completion-notices.ts';
import { addDispatchMetrics } from '#shared/runs/dispatch/metrics.ts';
import type { Runs } from '#shared/runs/runs.ts';
import { createEvents } from '#shared/runs/send-event.ts';
import { createFlowKeys } from '#shared/tenants/creators.ts';
import { createEventRecorder } from '#shared/triggers/listeners/event-recorder.ts';
import { createListenerReader } from '#shared/triggers/listeners/listener-reader.ts';
import { createReleaseNext } from '#shared/triggers/listeners/release-next.ts';
import { createGarbageCollector } from '../datasources/files/collect-garbage.ts';
import { createRevocationJob } from '../datasources/oauth/revocations.ts';
import { consumersFor } from '../engine/claim/run-permits.ts';
import type { Engine } from '../engine/engine.ts';
import type { Lease } from '../engine/lease/lease.ts';
import { failStaleRuns } from '../engine/recovery/fail-stale-runs.ts';
import { createQuarantine } from '../engine/recovery/quarantine.ts';
import { createSweep, type Sweep } from '../engine/recovery/sweep.ts';
import { createTrailRetention } from '../maintenance/audit/retire-trails.ts';
import { createTrailSeals } from '../maintenance/audit/seal-trails.ts';
import { startRetention } from '../maintenance/retention/retire.ts';
import { createCancels } from '../processors/cancels.ts';
import { consume, type Processor, type ProcessorContext } from '../processors/consume.ts';
import { processors } from '../processors/index.ts';
import { createJobStats } from '../processors/job-stats.ts';
import { createBatchReconciler } from '../runs/batches/reconcile.ts';
import { createCompletionWebhooks } from '../runs/completion-webhooks.ts';
import { createFailureHandlers } from '../runs/failure-handlers.ts';
import { createTenantDatabaseReconciler } from '../tenant-database/databases/reconcile.ts';
import { createCronReconciler } from '../triggers/cron/reconcile-jobs.ts';
import { createCronScheduler } from '../triggers/cron/scheduler.ts';
import { createCronTimers } from '../triggers/cron/timers.ts';
import { createBufferTrim } from '../triggers/listeners/actions/trim-buffers.ts';
import { createEventDispatch } from '../triggers/listeners/dispatch-events.ts';
import { addOwnerMetrics } from '../triggers/listeners/owner/metrics.ts';
import { createListenerOwner, type ListenerOwner } from '../triggers/listeners/owner/owner.ts';
import { createEventProcessing } from '../triggers/listeners/process-events.ts';
import { createDeferredRelease } from '../triggers/listeners/release-deferred.ts';
import { createDeadLetterBoard } from '../triggers/listeners/show-dead-letters.ts';
import { addEngineMetrics, addWorkerMetrics } from './metrics.ts';
import { openEngine } from './open-engine.ts';

export interface WorkerContext extends AsyncDisposable {
  readonly leaseID: string;
  readonly engine: Engine;
  readonly runs: Runs;
  readonly sweep: Sweep;
  readonly backplane: Backplane;
  readonly pool: Pool;
  readonly commitPool: Pool;
  readonly metricsPort: number | null;
}

export interface WorkerOptions {
  config: Config;
  logger: Logger;
  /** Queues that the worker consumes. Absent: all queues. */
  queueNames?: readonly QueueName[];
  /** Pages for health and metrics, opened when the worker takes jobs. Absent: the worker serves its own, if its config has an address. */
  pages?: ProcessPages | null;
}

/** Creates a worker from its config. Disposing it stops taking work, hands back its runs, and closes its connections. */
export async function createWorker({ config, logger, queueNames, pages }: WorkerOptions): Promise<WorkerContext> {
  await using resources = new AsyncDisposableStack();
  const advancesRuns = !queueNames || queueNames.includes(workflowRuns.name);
  const opened = await openEngine(resources, {
    config,
    logger,
    name: 'gantry.worker',
    leaseSlots: advancesRuns ? config.worker.slots : 0,
    onFinished: () => sweep.dispatchSoon(),
  });
  const {
    pool,
    leasePool,
    backplane,
    producer,
    runs,
    engine,
    lease,
    services,
    servers,
    secrets,
    datasources,
    queries,
    ai,
    bytes,
  } = opened;
  const { cronLateMs: lateMs } = config.worker;
  const { messages } = backplane;
  const cron = resources.use(createCronScheduler({ pool, runs, rights: opened.rights, lateMs, messages, logger }));
  const workflowEvents = createEvents({ pool, runs, rights: opened.rights });
  const sweep = createSweep({
    pool,
    leasePool,
    runs,
    producer,
    backplane,
    logger,
    leaseMs: config.worker.leaseMs,
    events: workflowEvents,
    onPressure: (waiting) => engine.setPressure(waiting),
  });

  await waitUntilResumed(pool, { logger, ...(pages && { onWait: pages.noteWaiting }) });
  await failStaleRuns(pool, runs, config.worker.staleAfterMs, logger);
  await lease.open();
  resources.use(lease);
  // A restore refuses a database with a valid lease; this worker may have opened its own while the restore began.
  if (await readHold(pool)) throw new Error('The deployment was restored while this worker started: start it again');
  resources.use(sweep);
  const secretsCheck = resources.use(startSecretsCheck({ secrets, pool, logger }));
  const reader = createListenerReader({ pool, secrets });
  const dispatch = resources.use(createEventDispatch({ pool, producer, logger }));
  const { rights, sandbox, publisher, stored } = opened;
  const buffers = resources.use(createBufferTrim(pool, logger));
  const notifyCompletion = createCompletionNotices(messages, logger);
  const { onFinished } = dispatch;
  const flowKeys = createFlowKeys(pool);
  const events = createEventProcessing({
    ...{
      flowKeys,
      pool,
      runs,
      rights,
      sandbox,
      queries,
      publisher,
      buffers,
      reader,
      bytes,
      notifyCompletion,
      onFinished,
      stored,
      logger,
    },
    releaseNext: createReleaseNext({ pool, producer, logger }),
    events: workflowEvents,
  });
  const context: ProcessorContext = {
    ...services,
    engine,
    events,
    pool,
    secrets,
    messages: backplane.messages,
    cancels: resources.use(createCancels(backplane.messages)),
    flowKeys,
    jobs: createJobStats(config.metrics?.tenantIDs),
    answering: createSemaphore({ ...ANSWERING, dynamicLimit: 1 }),
    bytes,
    datasources,
    queries,
    ai,
    rights,
    cron,
    backplane,
    logger,
  };
  const quarantine = advancesRuns ? resources.use(createQuarantine({ pool, config, logger })) : undefined;
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
  let owner: ListenerOwner | undefined;
  if (!queueNames || queueNames.includes(listenerEvents.name)) {
    // One statement at a time, so that events are recorded in the order of their arrival.
    const recorder = resources.use(createEventRecorder({ pool, producer, logger, maxConcurrent: 1 }));
    const leaseMs = config.worker.listenerLeaseMs;
    owner = resources.use(
      createListenerOwner({ pool, leasePool, services, reader, recorder, secrets, leaseMs, logger }),
    );
  }
  resources.use(createTenantDatabaseReconciler({ pool, runs, servers, secrets, messages: backplane.messages, logger }));
  resources.use(createBatchReconciler({ pool, runs, rights: opened.rights, logger }));
  resources.use(createFailureHandlers({ pool, runs, rights: opened.rights, logger }));
  const completions = resources.use(
    createCompletionWebhooks({ pool, outbound: services.outbound, variables: opened.variables, bytes, logger }),
  );
  resources.use(createRevocationJob({ pool, messages, oauthConnections: services.oauthConnections, logger }));
  resources.use(createGarbageCollector(opened.stored, logger));
  const leads = () => sweep.stats.leads;
  const deadLetters = resources.use(createDeadLetterBoard({ pool, backplane, leads, logger }));
  const deferred = resources.use(createDeferredRelease({ pool, producer, leads, logger }));
  const timers = createCronTimers({ pool, backplane });
  resources.use(createCronReconciler({ scheduler: cron, timers, pool, leads, logger }));
  resources.use(createTrailSeals({ pool, leads, logger }));
  resources.use(createTrailRetention({ pool, settings: config.worker.retention, leads, logger }));
  resources.use(startRetention({ pool, settings: config.worker.retention, logger }));
  quarantine?.start();
  const metrics = createMetrics(logger);
  const report = () => quarantine?.metrics ?? {};
  const ofProcesses = withChild(metrics, { parent: 'worker', child: 'suspect', report });
  resources.use(addProcessMetrics(ofProcesses, opened.pools));
  addEngineMetrics(ofProcesses, opened);
  addDispatchMetrics(ofProcesses, runs);
  addMemoryBudgetMetrics(metrics, opened.bytes);
  if (owner) addOwnerMetrics(metrics, owner.stats);
  const { answering, jobs } = context;
  const periodic = { deadLetters, deferred, cron };
  addWorkerMetrics(metrics, { pool, sweep, backplane, answering, jobs, deliveries: completions.stats, ...periodic });
  const served = pages ?? (config.metrics && resources.use(await servePages(config.metrics, logger)));
  let isDraining = false;
  served?.open({
    metrics,
    readReadiness: () => readinessOf({ pool, backplane, secrets: secretsCheck, lease, isDraining }),
  });
  resources.defer(() => {
    isDraining = true;
  });

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
    commitPool: opened.commitPool,
    metricsPort: served?.port ?? null,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Readiness of the worker. Without a valid lease it is not ready, since it begins no node. */
async function readinessOf({
  lease,
  ...needed
}: Parameters<typeof readReadiness>[0] & { lease: Lease }): Promise<Readiness> {
  const { isReady, checks } = await readReadiness(needed);
  const { isValid } = lease;
  return { isReady: isReady && isValid, checks: { ...checks, lease: isValid ? 'ok' : 'is over' } };
}

/** Jobs of a queue at once in a worker. */
function consumersOf(definition: QueueDefinition, slots: number): number {
  return definition.name === workflowRuns.name ? consumersFor(slots) : (definition.concurrency ?? slots);
}

/** Requests that one worker answers at once. Each needs a connection to a tenant's server, and memory for the response. */
const ANSWERING = { permits: 200, permitsForShort: 20 };

function startConsumer(
  backplane: Backplane,
  definition: AnyQueue,
  options: { context: ProcessorContext; logger: Logger; concurrency: number; leaseMs: number },
): JobWorker {
  // Safe: the table pairs every queue with the processor of its type, and the name selects the pair.
  const processor = processors[definition.name] as Processor<AnyQueue>;
  return consume(backplane, { definition, processor, ...options });
}
