import { type Backplane, createBackplane, type JobWorker } from '#shared/backplane/index.ts';
import type { Config } from '#shared/config.ts';
import { createKeyRing } from '#shared/crypto.ts';
import { createDispatchPool, createPool, type Pool } from '#shared/db/pool.ts';
import { requireSchema } from '#shared/db/schema.ts';
import { createTenantTurns } from '#shared/db/tenant-creators.ts';
import { createLane } from '#shared/lanes.ts';
import type { Logger } from '#shared/logger.ts';
import { createPolicy } from '#shared/policy/enforcer.ts';
import { createProducer } from '#shared/producer.ts';
import type { QueueDefinition } from '#shared/queues/define-queue.ts';
import { type AnyQueue, type QueueName, queues } from '#shared/queues/index.ts';
import { createPublisher } from '#shared/realtime/publish.ts';
import { RUN_CHANNEL, RunSignal } from '#shared/run-signals.ts';
import { createRuns, type Runs } from '#shared/runs.ts';
import { createKeptConnections } from './connections/kept.ts';
import { createReach } from './connectors/reach.ts';
import { failStaleRuns } from './engine/boot.ts';
import { createEngine, type Engine } from './engine/engine.ts';
import { createLease } from './engine/lease.ts';
import { createRights } from './engine/rights.ts';
import { createSweep, type Sweep } from './engine/sweep.ts';
import { createCancels } from './processors/cancels.ts';
import { consume, type Processor, type ProcessorContext } from './processors/consume.ts';
import { processors } from './processors/index.ts';
import { createQueryCache } from './queries/cache.ts';
import { createDatasources } from './queries/datasources.ts';
import { createQueries } from './queries/run.ts';
import { createSandbox } from './sandbox/pool.ts';

export interface WorkerContext extends AsyncDisposable {
  readonly leaseID: string;
  readonly engine: Engine;
  readonly runs: Runs;
  readonly sweep: Sweep;
  readonly backplane: Backplane;
  readonly pool: Pool;
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
  const pool = createPool(config.db, logger, { name: 'gantry.worker' });
  resources.defer(() => pool.end());
  const dispatchPool = createDispatchPool(config.db, logger, 'gantry.worker');
  resources.defer(() => dispatchPool.end());
  await requireSchema(pool);
  const backplane = resources.use(await createBackplane(config.backplane, logger));
  const producer = createProducer(backplane);
  const publisher = resources.use(createPublisher(backplane));
  const runs = createRuns({ pool, dispatchPool, producer, messages: backplane.messages, logger });
  const sandbox = resources.use(createSandbox(config.sandbox, logger));

  const secrets = createKeyRing(config.secrets.keys);
  const kept = resources.use(createKeptConnections(logger));
  const reach = resources.use(await createReach({ pool, secrets, config, logger }));
  const datasources = createDatasources({ pool, secrets, kept, reach, logger });
  const queries = createQueries({
    pool,
    secrets,
    datasources,
    cache: createQueryCache(pool, secrets),
    sandbox,
    logger,
  });

  const rights = createRights({ pool, policy: resources.use(createPolicy(pool, logger)) });

  const lease = createLease({
    pool,
    slots: config.worker.slots,
    leaseMs: config.worker.leaseMs,
    logger,
    onLost: () => engine.abandon(),
    onRenewed: (held, asOf) => engine.reconcile(held, asOf),
  });
  const engine = createEngine({
    pool,
    dispatchPool,
    rights,
    runs,
    publisher,
    nodes: { ...reach, sandbox, queries },
    config: config.worker,
    leaseID: () => lease.id,
    logger,
    onFinished: () => sweep.refillSoon(),
  });
  const sweep = createSweep({
    pool,
    runs,
    producer,
    backplane,
    logger,
    leaseMs: config.worker.leaseMs,
    retention: config.worker.retention,
    onPressure: (waiting) => engine.setPressure(waiting),
  });

  await failStaleRuns(pool, runs, config.worker.staleAfterMs, logger);
  await lease.open();
  resources.use(lease);
  resources.use(sweep);
  resources.defer(
    backplane.messages.subscribe(RUN_CHANNEL, (message) => {
      for (const signal of RunSignal.array().catch([]).parse(message)) engine.onSignal(signal);
    }),
  );
  const context: ProcessorContext = {
    ...reach,
    engine,
    pool,
    secrets,
    messages: backplane.messages,
    cancels: resources.use(createCancels(backplane.messages)),
    turns: createTenantTurns(pool),
    answering: createLane({ ...ANSWERING, sharesByCreator: true }),
    datasources,
    queries,
    logger,
  };
  const consumers = queues
    .filter(({ name }) => !queueNames || queueNames.includes(name))
    .map((definition) =>
      startConsumer(backplane, definition, {
        context,
        logger,
        concurrency: (definition as QueueDefinition).concurrency ?? config.worker.slots,
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
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
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
