import { createPolicy } from '#shared/access/policy/policy.ts';
import { createRights } from '#shared/access/policy/rights.ts';
import { createMemoryBudget } from '#shared/concurrency/memory-budget.ts';
import { createTenantLabel } from '#shared/core/counter.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { PoolState } from '#shared/core/metrics.ts';
import { createStoredFiles } from '#shared/datasources/files/files.ts';
import { checkOutFairly } from '#shared/db/fair-checkout.ts';
import { createDispatchPool, createPool, limitAnswers, type Pool } from '#shared/db/pool.ts';
import { createOrm } from '#shared/entities/orm.ts';
import { requireSchema } from '#shared/entities/schema.ts';
import { createBackplane } from '#shared/messaging/backplane/index.ts';
import { createProducer } from '#shared/messaging/producer.ts';
import { createRPC, type RPCStats } from '#shared/messaging/rpc.ts';
import type { Config } from '#shared/process/config.ts';
import { openKeyRing, startSecretsCheck } from '#shared/process/open-key-ring.ts';
import { createFormLinks } from '#shared/runs/form-links.ts';
import { createRuns } from '#shared/runs/runs.ts';
import { createEvents } from '#shared/runs/send-event.ts';
import { createEventIngestion } from '#shared/triggers/listeners/event-ingestion.ts';
import { ChangeRecorder } from '../audit/changes.ts';
import { createAuditTrail } from '../audit/trail.ts';
import { rememberIssuer, requireDevelopmentDatabase } from '../auth/database-issuer.ts';
import { createDevIssuer, type DevIssuer } from '../auth/dev-issuer.ts';
import { createAuthenticator } from '../auth/identify.ts';
import { createOperators } from '../auth/operator-session.ts';
import { warnOfBypass } from '../auth/test-bypass.ts';
import { createToolRights } from '../auth/tool-rights.ts';
import type { ApiContext } from '../context/context.ts';
import { createFleetView } from '../fleet/fleet.ts';
import { createFormLimits } from '../http/limits/form-limits.ts';
import { createRequestCount } from '../http/limits/rate-limit.ts';
import { createRefusals } from '../http/limits/refusals.ts';
import { createExecutableVersions } from '../runs/executable-versions.ts';
import { createPausedQueues } from '../runs/paused-queues.ts';
import { openSignIn } from '../sign-in/sign-in.ts';
import { createAwaitedRuns } from '../streams/awaited-runs.ts';
import { createChatStreams } from '../streams/chat-streams.ts';
import { createEventStreams } from '../streams/event-streams.ts';
import { createRunWatch, type RunWatch } from '../streams/run-watch.ts';

/** The context, with the parts that only the process around it uses. */
export interface OwnedApiContext extends ApiContext, AsyncDisposable {
  readonly watch: RunWatch;
  /** Counts of the requests to workers. */
  readonly asks: RPCStats;
  /** Every pool of connections, by name. */
  pools(): Readonly<Record<string, PoolState>>;
  /** Ends readiness and all waits, before the server stops listening. */
  drain(): void;
}

/** Opens everything from config alone; disposing it closes in reverse. */
export async function createApiContext(config: Config, logger: Logger): Promise<OwnedApiContext> {
  await using resources = new AsyncDisposableStack();
  const { answerMs } = config.db;
  const pool = createPool(config.db, logger, { name: 'gantry.api', answerMs });
  resources.defer(() => pool.end());
  const dispatchPool = createDispatchPool(config.db, logger, 'gantry.api');
  resources.defer(() => dispatchPool.end());
  await requireSchema(pool, logger);
  const orm = await createOrm(config.db, logger, [new ChangeRecorder()]);
  resources.defer(() => orm.close());
  const entityPool = await orm.em.getConnection().getNativeClient();
  limitAnswers(entityPool, answerMs);
  for (const checkedOut of [pool, entityPool]) checkOutFairly(checkedOut);
  const backplane = resources.use(await createBackplane(config.backplane, logger));
  const policy = resources.use(createPolicy(pool, logger));
  const { messages } = backplane;
  const keyRing = await openKeyRing(config.secrets.keys, pool);
  const { describeUnreadable } = resources.use(startSecretsCheck({ secrets: keyRing, pool, logger }));
  const secrets = { ...keyRing, describeUnreadable };
  const jobs = createProducer(backplane);
  const tenant = createTenantLabel(config.metrics?.tenantIDs);
  const rpc = resources.use(createRPC({ backplane, producer: jobs, pool, secrets, logger, tenant }));
  const producer = { ...jobs, request: rpc.request };
  const runs = createRuns({ pool, dispatchPool, producer, messages, logger });
  const devIssuer = await openDevIssuer(config, pool);
  const signIn = config.auth.isBuiltIn
    ? resources.use(await openSignIn({ config, pool, secrets, backplane, logger }))
    : undefined;
  const issuer = signIn?.issuer.storedAs ?? config.auth.issuer ?? devIssuer?.issuer;
  if (issuer) await rememberIssuer(pool, issuer);
  if (config.auth.testBypass) resources.use(warnOfBypass(logger));
  const authenticator = resources.use(
    createAuthenticator(config.auth, { pool, logger, ownIssuer: signIn?.issuer ?? devIssuer }),
  );
  const operators = createOperators({ pool, backplane, logger });
  const watch = resources.use(createRunWatch({ pool, backplane, logger }));

  const awaitedRuns = resources.use(createAwaitedRuns({ pool, messages, logger }));
  const drain = new AbortController();
  const streams = resources.use(createEventStreams({ pool, watch, logger, draining: drain.signal }));
  const chatStreams = resources.use(createChatStreams({ pool, messages, logger, draining: drain.signal }));

  const audit = resources.use(createAuditTrail({ pool, producer: jobs, flushMs: config.auditFlushMs, logger }));
  const ingestion = resources.use(createEventIngestion({ pool, secrets, producer: jobs, logger }));

  const pausedQueues = createPausedQueues(backplane);

  const owned = resources.move();
  return {
    config,
    logger,
    pool,
    orm,
    messaging: { backplane, producer },
    secrets,
    files: createStoredFiles(pool, config.files),
    access: { authenticator, operators, policy, toolRights: createToolRights(), devIssuer, signIn },
    runs: {
      ...runs,
      executableVersion: createExecutableVersions(pool),
      awaited: awaitedRuns,
      events: createEvents({ pool, runs, rights: createRights({ pool, policy }) }),
      ingestion,
      formLinks: createFormLinks(secrets, config.oauth.publicURL),
      formLimits: createFormLimits(backplane),
      fleet: createFleetView(pool, pausedQueues),
      pausedQueues,
    },
    requests: {
      count: createRequestCount(backplane, config.requestsPerMinute),
      refusals: createRefusals(tenant),
      bytes: createMemoryBudget(config.heldBytes),
      audit,
      streams,
      chatStreams,
      draining: drain.signal,
    },
    watch,
    asks: rpc.stats,
    pools: () => ({ main: pool, dispatch: dispatchPool, entities: entityPool, ...backplane.pools() }),
    drain() {
      drain.abort();
      awaitedRuns.drain();
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function openDevIssuer({ auth, production }: Config, pool: Pool): Promise<DevIssuer | undefined> {
  if (!auth.devIssuerKeyFile) return undefined;
  await requireDevelopmentDatabase(pool);
  return createDevIssuer({ keyFile: auth.devIssuerKeyFile, production, issuer: auth.issuer });
}
