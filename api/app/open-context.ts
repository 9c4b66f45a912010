import type { MikroORM } from '@mikro-orm/postgresql';
import { createPolicy, type Policy } from '#shared/access/policy/enforcer.ts';
import { createRights } from '#shared/access/policy/rights.ts';
import { type MemoryBudget, createMemoryBudget } from '#shared/concurrency/memory-budget.ts';
import { createTenantLabel } from '#shared/core/counter.ts';
import { createKeyRing, type KeyRing } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { PoolState } from '#shared/core/metrics.ts';
import { createStoredFiles, type StoredFiles } from '#shared/datasources/files/files.ts';
import { checkOutFairly } from '#shared/db/fair-checkout.ts';
import { createDispatchPool, createPool, limitAnswers, type Pool } from '#shared/db/pool.ts';
import { createOrm } from '#shared/entities/orm.ts';
import { requireSchema } from '#shared/entities/schema.ts';
import { type Backplane, createBackplane } from '#shared/messaging/backplane/index.ts';
import { createProducer, type Producer } from '#shared/messaging/producer.ts';
import { type Asking, type AskStats, createAsking } from '#shared/messaging/rpc.ts';
import type { Config } from '#shared/process/config.ts';
import { createFormLinks, type FormLinks } from '#shared/runs/form-links.ts';
import { createRuns, type Runs } from '#shared/runs/runs.ts';
import { createEvents, type Events } from '#shared/runs/send-event.ts';
import { createEventIngestion, type EventIngestion } from '#shared/triggers/listeners/event-ingestion.ts';
import { type AnswerStreams, createAnswerStreams } from '../streams/chat-streams.ts';
import { ChangeRecorder } from '../audit/changes.ts';
import { type AuditTrail, createAuditTrail } from '../audit/trail.ts';
import { rememberIssuer, requireDevelopmentDatabase } from '../auth/database-issuer.ts';
import { createDevIssuer, type DevIssuer } from '../auth/dev-issuer.ts';
import { type Authenticator, createAuthenticator } from '../auth/identify.ts';
import { createOperators, type Operators } from '../auth/operator-session.ts';
import { warnOfBypass } from '../auth/test-bypass.ts';
import { createFleetView, type FleetView } from '../fleet/fleet.ts';
import { createFormLimits, type FormLimits } from '../http/limits/form-limits.ts';
import { createRequestCount, type RequestCount } from '../http/limits/rate-limit.ts';
import { createRefusals, type Refusals } from '../http/limits/refusals.ts';
import { type AwaitedRuns, createAwaitedRuns } from '../streams/awaited-runs.ts';
import { createEventStreams, type EventStreams } from '../streams/event-streams.ts';
import { createRunWatch, type RunWatch } from '../streams/watch.ts';
import { createExecutableVersions, type ReadExecutableVersion } from '../runs/executable-versions.ts';
import { createToolRights } from '../auth/tool-rights.ts';

/** Everything a handler may use. */
export interface ApiContext {
  config: Config;
  logger: Logger;
  orm: MikroORM;
  pool: Pool;
  backplane: Backplane;
  policy: Policy;
  producer: Producer & Pick<Asking, 'ask'>;
  executableVersion: ReadExecutableVersion;
  runs: Runs;
  events: Events;
  ingestion: EventIngestion;
  /** Bytes of tenants' files. */
  files: StoredFiles;
  secrets: KeyRing;
  formLinks: FormLinks;
  formLimits: FormLimits;
  authenticator: Authenticator;
  operators: Operators;
  fleet: FleetView;
  audit: AuditTrail;
  requestCount: RequestCount;
  refusals: Refusals;
  /** Bytes of bodies and answers that the process holds at once. */
  bytes: MemoryBudget;
  /** On a developer's machine only. */
  devIssuer?: DevIssuer | undefined;
  awaitedRuns: Omit<AwaitedRuns, 'drain'>;
  streams: EventStreams;
  toolRights: ReturnType<typeof createToolRights>;
  answers: AnswerStreams;
  /** Set once the process has begun to stop. */
  readonly draining: AbortSignal;
}

/** The context, with the parts that only the process around it uses. */
export interface OwnedApiContext extends ApiContext, AsyncDisposable {
  readonly watch: RunWatch;
  /** Of the questions asked. */
  readonly asks: AskStats;
  /** Every pool of connections, by name. */
  pools(): Readonly<Record<string, PoolState>>;
  /** Ends readiness and all waits, before the server stops listening. */
  drain(): void;
}

/** Parts that a test may replace. */
export type ApiOverrides = Partial<Pick<ApiContext, 'backplane' | 'policy' | 'runs' | 'authenticator'>>;

/** Opens everything from config alone; disposing it closes in reverse. */
export async function createApiContext(
  config: Config,
  logger: Logger,
  overrides: ApiOverrides = {},
): Promise<OwnedApiContext> {
  await using resources = new AsyncDisposableStack();
  const { answerMs } = config.db;
  const pool = createPool(config.db, logger, { name: 'gantry.api', answerMs });
  resources.defer(() => pool.end());
  const dispatchPool = createDispatchPool(config.db, logger, 'gantry.api');
  resources.defer(() => dispatchPool.end());
  await requireSchema(pool);
  const orm = await createOrm(config.db, logger, [new ChangeRecorder()]);
  resources.defer(() => orm.close());
  const entityPool = await orm.em.getConnection().getNativeClient();
  limitAnswers(entityPool, answerMs);
  for (const lent of [pool, entityPool]) checkOutFairly(lent);
  const backplane = overrides.backplane ?? resources.use(await createBackplane(config.backplane, logger));
  const policy = overrides.policy ?? resources.use(createPolicy(pool, logger));
  const { messages } = backplane;
  const secrets = createKeyRing(config.secrets.keys);
  const jobs = createProducer(backplane);
  const tenant = createTenantLabel(config.metrics?.tenantIDs);
  const asking = resources.use(createAsking({ backplane, producer: jobs, pool, secrets, logger, tenant }));
  const producer = { ...jobs, ask: asking.ask };
  const runs = overrides.runs ?? createRuns({ pool, dispatchPool, producer, messages, logger });
  const devIssuer = await openDevIssuer(config, pool);
  const issuer = config.auth.issuer ?? devIssuer?.issuer;
  if (issuer) await rememberIssuer(pool, issuer);
  if (config.auth.testBypass) resources.use(warnOfBypass(logger));
  const authenticator =
    overrides.authenticator ?? resources.use(createAuthenticator(config.auth, { pool, logger, devIssuer }));
  const operators = createOperators({ pool, backplane, logger });
  const watch = resources.use(createRunWatch({ pool, backplane, logger }));

  const awaitedRuns = resources.use(createAwaitedRuns({ pool, messages, logger }));
  const requestCount = createRequestCount(backplane, config.requestsPerMinute);
  const drain = new AbortController();
  const streams = resources.use(createEventStreams({ pool, watch, logger, draining: drain.signal }));
  const answers = resources.use(createAnswerStreams({ pool, messages, logger, draining: drain.signal }));

  const audit = resources.use(createAuditTrail({ pool, producer: jobs, flushMs: config.auditFlushMs, logger }));
  const ingestion = resources.use(createEventIngestion({ pool, secrets, producer: jobs, logger }));

  const owned = resources.move();
  return {
    config,
    requestCount,
    refusals: createRefusals(tenant),
    asks: asking.stats,
    pools: () => ({ main: pool, dispatch: dispatchPool, entities: entityPool, ...backplane.pools() }),
    bytes: createMemoryBudget(config.heldBytes),
    files: createStoredFiles(pool, config.files),
    logger,
    orm,
    pool,
    backplane,
    policy,
    producer,
    executableVersion: createExecutableVersions(pool),
    runs,
    ingestion,
    events: createEvents({ pool, runs, rights: createRights({ pool, policy }) }),
    secrets,
    formLinks: createFormLinks(secrets, config.oauth.publicURL),
    formLimits: createFormLimits(backplane),
    authenticator,
    operators,
    fleet: createFleetView(pool),
    audit,
    devIssuer,
    awaitedRuns,
    streams,
    toolRights: createToolRights(),
    answers,
    draining: drain.signal,
    watch,
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
