import { createPolicy } from '#shared/access/policy/policy.ts';
import { createRights, type Rights } from '#shared/access/policy/rights.ts';
import { createMemoryBudget, type MemoryBudget } from '#shared/concurrency/memory-budget.ts';
import { createTenantLabel } from '#shared/core/counter.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { PoolState } from '#shared/core/metrics.ts';
import { createStoredFiles, type StoredFiles } from '#shared/datasources/files/files.ts';
import { createCommitPool, createDispatchPool, createLeasePool, createPool, type Pool } from '#shared/db/pool.ts';
import { requireSchema } from '#shared/entities/schema.ts';
import { type Backplane, createBackplane } from '#shared/messaging/backplane/index.ts';
import { createProducer, type Producer } from '#shared/messaging/producer.ts';
import { createPublisher, type Publisher } from '#shared/messaging/realtime/publish.ts';
import type { Config } from '#shared/process/config.ts';
import { openKeyRing } from '#shared/process/open-key-ring.ts';
import { createCompletionNotices } from '#shared/runs/completion-notices.ts';
import { createFormLinks } from '#shared/runs/form-links.ts';
import { createRuns, type Runs } from '#shared/runs/runs.ts';
import { RUN_CHANNEL, RunSignal } from '#shared/runs/signals.ts';
import { type AI, createAI } from '../ai/calls.ts';
import { createToolCalls } from '../ai/node-tools.ts';
import { createConnectionCache } from '../connections/connection-cache.ts';
import { createOutboundServices, type OutboundServices } from '../datasources/connectors/outbound-services.ts';
import { createQueryCache } from '../datasources/queries/cache.ts';
import { createDatasources, type Datasources } from '../datasources/queries/datasources.ts';
import type { Queries } from '../datasources/queries/queries.ts';
import { createQueries } from '../datasources/queries/run.ts';
import { createEngine, type Engine } from '../engine/engine.ts';
import { createLease, type Lease } from '../engine/lease/lease.ts';
import { createTenantVariables, type TenantVariables } from '../nodes/variables.ts';
import { createSandbox, type Sandbox } from '../sandbox/pool.ts';
import { createTenantServers, type TenantServers } from '../tenant-database/servers/servers.ts';

/** The engine with everything that nodes use: what a worker and its quarantine process have in common. */
export interface OpenEngine {
  readonly pool: Pool;
  readonly leasePool: Pool;
  /** See `createCommitPool`. */
  readonly commitPool: Pool;
  readonly sandbox: Sandbox;
  /** Every pool of connections, by name. */
  pools(): Readonly<Record<string, PoolState>>;
  readonly backplane: Backplane;
  readonly producer: Producer;
  readonly publisher: Publisher;
  readonly runs: Runs;
  readonly servers: TenantServers;
  readonly secrets: KeyRing;
  readonly services: OutboundServices;
  readonly stored: StoredFiles;
  readonly datasources: Datasources;
  readonly queries: Queries;
  readonly ai: AI;
  readonly engine: Engine;
  readonly rights: Rights;
  readonly variables: TenantVariables;
  /** Budget of the memory for responses that the process has at the same time. */
  readonly bytes: MemoryBudget;
  /** The lease of the process. The caller has to open it. */
  readonly lease: Lease;
}

export interface EngineOptions {
  config: Config;
  logger: Logger;
  /** The process, as the database shows it. */
  name: string;
  /** Runs that this process adds to the capacity of the dispatch window. */
  leaseSlots: number;
  /** Is called when the engine has released a run. */
  onFinished(engine: Pick<OpenEngine, 'runs'>): void;
}

/** Opens an engine. Everything that it needs closes with `resources`. */
export async function openEngine(
  resources: AsyncDisposableStack,
  { config, logger, name, leaseSlots, onFinished }: EngineOptions,
): Promise<OpenEngine> {
  const pool = createPool(config.db, logger, { name, answerMs: config.db.answerMs });
  resources.defer(() => pool.end());
  const dispatchPool = createDispatchPool(config.db, logger, name);
  resources.defer(() => dispatchPool.end());
  const commitPool = createCommitPool(config.db, logger, name);
  resources.defer(() => commitPool.end());
  const leasePool = createLeasePool(config.db, logger, name, config.worker.leaseMs);
  resources.defer(() => leasePool.end());
  await requireSchema(pool, logger);
  const backplane = resources.use(await createBackplane(config.backplane, logger));
  const { messages } = backplane;
  const producer = createProducer(backplane);
  const publisher = resources.use(createPublisher(backplane));
  const runs = createRuns({ pool, dispatchPool, producer, messages, logger });
  const sandbox = resources.use(createSandbox(config.sandbox, logger));

  const bytes = createMemoryBudget(config.heldBytes);
  const secrets = await openKeyRing(config.secrets.keys, pool);
  const connectionCache = resources.use(createConnectionCache(logger));
  const servers = resources.use(createTenantServers({ pool, messages, config: config.tenantDatabases, logger }));
  const stored = createStoredFiles(pool, config.files);
  const services = resources.use(await createOutboundServices({ pool, secrets, servers, stored, config, logger }));
  const datasources = createDatasources({ pool, secrets, connectionCache, services, logger });
  const cache = createQueryCache({ pool, secrets, logger });
  const queries = createQueries({ pool, secrets, datasources, cache, sandbox, logger });
  const ai = resources.use(createAI({ pool, secrets, workspace: config.ai, outbound: services.outbound, logger }));
  const variables = resources.use(createTenantVariables({ pool, secrets, messages }));
  const rights = createRights({ pool, policy: resources.use(createPolicy(pool, logger)) });

  const lease: Lease = createLease({
    pool: leasePool,
    slots: leaseSlots,
    leaseMs: config.worker.leaseMs,
    logger,
    onLost: () => engine.abandon(),
    onRenewed: (owned, asOf) => engine.reconcile(owned, asOf),
  });
  const engine = createEngine({
    pool,
    dispatchPool,
    commitPool,
    rights,
    runs,
    publisher,
    notifyCompletion: createCompletionNotices(messages, logger),
    nodes: {
      ...{ ...services, sandbox, queries, variables, ai },
      toolCalls: createToolCalls({ pool, messages, logger }),
      formLinks: createFormLinks(secrets, config.oauth.publicURL),
    },
    config: config.worker,
    lease,
    bytes,
    logger,
    tenantLabel: createTenantLabel(config.metrics?.tenantIDs),
    onFinished: () => onFinished({ runs }),
  });
  resources.defer(
    messages.subscribe(RUN_CHANNEL, (message) => {
      for (const signal of RunSignal.array().catch([]).parse(message)) engine.onSignal(signal);
    }),
  );
  const pools = () => ({
    main: pool,
    dispatch: dispatchPool,
    commit: commitPool,
    lease: leasePool,
    ...backplane.pools(),
    ...Object.fromEntries(servers.all.map(({ name, admin }) => [`tenants.${name}`, admin])),
  });
  return {
    pool,
    leasePool,
    commitPool,
    sandbox,
    pools,
    backplane,
    producer,
    publisher,
    runs,
    servers,
    secrets,
    services,
    stored,
    datasources,
    queries,
    ai,
    engine,
    rights,
    variables,
    bytes,
    lease,
  };
}
