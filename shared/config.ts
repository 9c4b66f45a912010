import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { type AISettings, aiProviders, lackOf } from './ai/providers.ts';
import type { S3Place } from './files/s3-store.ts';
import { OAuthProviders } from './oauth-providers.ts';
import { parseValue } from './parse-value.ts';
import {
  hostAndPort,
  keyRing,
  list,
  networks,
  networksAndPlaces,
  OWN_SERVER,
  port,
  portsOfTenants,
  readNetwork,
  seconds,
  type TenantServerPlace,
  tenantServers,
} from './setting-formats.ts';
import { describeIssues } from './workflow/issues.ts';

const networkNames = ['loopback', 'linklocal', 'uniquelocal'];
const DAY_MS = 86_400_000;

/** All variables of the environment that Gantry reads. No other file reads the environment. */
export const Environment = z.object({
  NODE_ENV: z.enum(['development', 'test', 'production']).default('development'),
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' }),
  DATABASE_POOL: z.coerce.number().int().min(2).max(200).default(10),
  REDIS_URL: z.url({ protocol: /^rediss?$/, error: 'must be a redis:// URL' }).optional(),
  /** Comma-separated host:port of Sentinels; REDIS_URL then gives credentials and database, REDIS_SENTINEL_MASTER the name. */
  REDIS_SENTINELS: list,
  REDIS_SENTINEL_MASTER: z.string().default('mymaster'),
  /** Separates deployments that share one Redis, or one Postgres for queues. */
  BACKPLANE_PREFIX: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,30}$/)
    .default('gantry'),
  HOST: z.string().default('127.0.0.1'),
  PORT: port(0).default(8080),
  BOARD_PORT: port(0).default(8081),
  /** Of the MCP service. */
  MCP_PORT: port(0).default(5001),
  /** URL under which clients reach the MCP service, such as https://mcp.example.com; absent: the one that the client used. */
  MCP_PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: 'must be a URL that begins with https://' })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  /** Where the process serves its metrics, apart from the API; absent: nowhere. */
  METRICS_PORT: port(0).optional(),
  /** Tenants whose ids are the label `tenant` of some metrics; all others are one. */
  METRICS_TENANTS: list.pipe(z.array(z.uuid()).max(50)),
  /** `npm start` only: the board needs no sign-in on the same machine. */
  BOARD_OPEN_ON_LOOPBACK: z.stringbool().default(false),
  CORS_ORIGINS: list,
  /** URL under which browsers reach this service, such as https://api.example.com. Redirect URIs never come from a request. */
  PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: 'must be a URL that begins with https://' })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  /** OAuth providers by name, as JSON: `{"google":{"clientID":"…","clientSecret":"…"}}`; all fields are in `oauth-providers.ts`. */
  OAUTH_PROVIDERS: OAuthProviders,
  /** The language model for tenants that have none of their own; absent: they have none. */
  AI_PROVIDER: z.enum(aiProviders).optional(),
  /** Absent: the provider's own. It is reached through the gate, so a private address must be in OUTBOUND_ALLOW. */
  AI_BASE_URL: z.url({ protocol: /^https?$/, error: 'must be a URL that begins with https://' }).optional(),
  AI_API_KEY: z.string().min(1).optional(),
  AI_MODEL: z.string().min(1).optional(),
  /** Addresses or networks of the proxies in front, whose X-Forwarded-For says where a request comes from. */
  TRUSTED_PROXIES: list.refine((items) => items.every((item) => networkNames.includes(item) || readNetwork(item)), {
    error: 'must be addresses, networks such as 10.0.0.0/8, or loopback, linklocal, uniquelocal',
  }),
  BODY_LIMIT_BYTES: z.coerce
    .number()
    .int()
    .positive()
    .default(5 * 1024 * 1024),
  AUTH_ISSUER: z.url().optional(),
  AUTH_AUDIENCE: z.string().optional(),
  AUTH_JWKS_URL: z.url().optional(),
  /** File holding the development issuer's signing key; set by the embedded mode only. */
  DEV_ISSUER_KEY_FILE: z.string().optional(),
  /** For tests only: `Bearer test:<email>` signs in without a check. Refused in production; the log warns of it. */
  AUTH_TEST_BYPASS: z.stringbool().default(false),
  /** Lifetime in days of an API key whose creator names none. */
  API_KEY_DEFAULT_DAYS: z.coerce.number().positive().max(36_500).default(90),
  /** Requests a minute for one API key, over all API processes; 0 switches the limit off. */
  API_KEY_REQUESTS_PER_MINUTE: z.coerce.number().int().min(0).default(1000),
  /** Requests and socket events a minute of one user, over all API processes; 0 switches the limit off. */
  USER_REQUESTS_PER_MINUTE: z.coerce.number().int().min(0).default(6000),
  /** Connections of one client address to one API process; 0 switches the limit off. */
  CONNECTIONS_PER_ADDRESS: z.coerce.number().int().min(0).default(5000),
  /** Keys that seal stored secrets, newest first: `<keyID>:<base64 of 32 bytes>,…` (`openssl rand -base64 32`). */
  SECRETS_KEYS: keyRing,
  /** Addresses and networks that workers may reach although they are private, loopback or otherwise not of the internet. */
  OUTBOUND_ALLOW: networks,
  /**
   * Addresses, networks and `host:port` that workers never reach for a tenant, OUTBOUND_ALLOW or not. The places that the other
   * variables name are refused without it.
   */
  OUTBOUND_DENY: networksAndPlaces,
  /** Whether a tenant without a database gets one when it first needs it. */
  TENANT_DATABASES: z.stringbool().default(true),
  /**
   * PostgreSQL servers for the databases of tenants. SQL of tenants is arbitrary, and all databases of a server share its roles,
   * connections, disk and memory, so the deployment's own server counts only when the list contains the word DATABASE_URL.
   */
  TENANT_DATABASES_URL: tenantServers,
  /** Set by `npm start`: the server is started when a worker asks for it. */
  TENANT_DATABASES_ON_DEMAND: z.stringbool().default(false),
  /** Databases on one server. A server with as many gets no new ones. */
  TENANT_DATABASES_PER_SERVER: z.coerce.number().int().min(1).default(500),
  /** Connections of one worker process to one server of tenants' databases, over all tenants. */
  TENANT_DATABASES_CONNECTIONS: z.coerce.number().int().min(1).default(20),
  /** Bytes of one tenant's database on these servers; 0 is no limit. */
  TENANT_DATABASES_MAX_BYTES: z.coerce
    .number()
    .int()
    .min(0)
    .default(10 * 1024 ** 3),
  /** Folder for files of tenants, which every process sees under this path. Without it and a bucket they are in Postgres. */
  FILES_DIR: z.string().optional(),
  /** Bucket for files of tenants; it wins over FILES_DIR, whose files stay readable. */
  FILES_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket')
    .optional(),
  /** Absent: Amazon's. */
  FILES_ENDPOINT: z.url({ protocol: /^https?$/, error: 'must be a URL that begins with https://' }).optional(),
  FILES_REGION: z.string().default('us-east-1'),
  FILES_ACCESS_KEY_ID: z.string().optional(),
  FILES_SECRET_ACCESS_KEY: z.string().optional(),
  /** Folder of `pg_dump` and `pg_restore` for moving a tenant's database. */
  PG_BIN: z.string().optional(),
  LOG_LEVEL: z.enum(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']).default('info'),
  /** Seconds; RUNNING runs without a sign of life for longer are FAILED when the service starts. 0 resumes them instead. */
  STALE_WORKFLOW_WINDOW: seconds(300),
  CRON_LATE_SECONDS: seconds(60),
  /** Nodes running at once in one worker process. */
  WORKER_SLOTS: z.coerce.number().int().min(1).max(10_000).default(50),
  WORKER_SESSION_SECONDS: z.coerce.number().min(1).max(600).default(30),
  /** Ports of the workers that listeners of a tenant may bind for syslog. */
  SYSLOG_PORTS: portsOfTenants,
  /** How long a listener with a connection stays with a worker that has died. */
  LISTENER_LEASE_SECONDS: z.coerce.number().min(1).max(600).default(6),
  /** A process for user code serves one tenant, until it has idled for 10 s. */
  SANDBOX_PER_TENANT: z.stringbool().default(false),
  SANDBOX_PROCESSES: z.coerce.number().int().min(1).max(64).default(availableParallelism()),
  /** Bytes of bodies and answers that one process holds at once; one request or node may hold half of them. */
  HELD_MAX_BYTES: z.coerce
    .number()
    .int()
    .min(32 * 1024 ** 2)
    .default(128 * 1024 ** 2),
  /** Inputs and outputs of the runs that a worker holds, as JSON text. */
  HELD_RUNS_MAX_BYTES: z.coerce
    .number()
    .int()
    .positive()
    .default(64 * 1024 ** 2),
  NODE_OUTPUT_MAX_BYTES: z.coerce
    .number()
    .int()
    .positive()
    .default(5 * 1024 * 1024),
  RUN_OUTPUT_MAX_BYTES: z.coerce
    .number()
    .int()
    .positive()
    .default(32 * 1024 * 1024),
  RUN_RETENTION_DAYS: z.coerce.number().positive().default(30),
  RUN_RETENTION_MAX_DAYS: z.coerce.number().positive().optional(),
  QUERY_RUN_RETENTION_DAYS: z.coerce.number().positive().default(7),
  OPERATOR_AUDIT_RETENTION_DAYS: z.coerce.number().positive().default(400),
  AUDIT_BUFFER_SECONDS: z.coerce.number().positive().max(60).default(5),
  AUDIT_RETENTION_DAYS: z.coerce.number().positive().default(90),
  AUDIT_RETENTION_MAX_DAYS: z.coerce.number().positive().default(400),
  SHUTDOWN_SECONDS: seconds(20),
});

/** Variables that `npm start` reads before a database exists. */
export const EmbeddedEnvironment = z.object({
  ...Environment.pick({
    REDIS_URL: true,
    REDIS_SENTINELS: true,
    REDIS_SENTINEL_MASTER: true,
    SECRETS_KEYS: true,
    TENANT_DATABASES: true,
    TENANT_DATABASES_URL: true,
  }).shape,
  DATABASE_URL: Environment.shape.DATABASE_URL.optional(),
  GANTRY_HOME: z.string().default('.gantry'),
  PORT: port(1).default(8080),
  BOARD_PORT: port(1).optional(),
  MCP_PORT: port(1).optional(),
});

export type EmbeddedConfig = ReturnType<typeof readEmbeddedConfig>;

export function readEmbeddedConfig(env: Record<string, string | undefined> = process.env) {
  const e = parse(EmbeddedEnvironment, env);
  if (e.DATABASE_URL && e.SECRETS_KEYS.length === 0)
    throw new Error(
      'Configuration: SECRETS_KEYS is required with DATABASE_URL, to seal stored credentials. ' +
        'Make a key once and keep it: SECRETS_KEYS="k1:$(openssl rand -base64 32)"',
    );
  return {
    home: e.GANTRY_HOME,
    port: e.PORT,
    boardPort: e.BOARD_PORT ?? e.PORT + 1,
    mcpPort: e.MCP_PORT ?? e.PORT + 2,
    databaseURL: e.DATABASE_URL,
    redis: readRedis(e),
    wantsTenantPostgres: e.TENANT_DATABASES && e.TENANT_DATABASES_URL.length === 0,
  };
}

export interface RedisConfig {
  url: string;
  sentinels: { host: string; port: number }[];
  sentinelMaster: string;
}

export interface BackplaneConfig {
  prefix: string;
  /** Present: queues, sockets and messages go over Redis. Absent: over Postgres. */
  redis?: RedisConfig | undefined;
  databaseURL: string;
}

export type Config = ReturnType<typeof readConfig>;
export type WorkerConfig = Config['worker'];

/** Parses the environment into nested values with units in their names. Refuses combinations that are invalid. */
export function readConfig(env: Record<string, string | undefined> = process.env) {
  const e = parse(Environment, env);
  const production = e.NODE_ENV === 'production';
  if (production) checkProduction(e);
  if (e.AUTH_ISSUER && e.DEV_ISSUER_KEY_FILE)
    throw new Error('Configuration: DEV_ISSUER_KEY_FILE and AUTH_ISSUER exclude each other');
  if (e.AUTH_ISSUER && !e.AUTH_AUDIENCE) throw new Error('Configuration: AUTH_AUDIENCE is required with AUTH_ISSUER');
  checkOAuth(e);

  const backplane: BackplaneConfig = {
    prefix: e.BACKPLANE_PREFIX,
    databaseURL: e.DATABASE_URL,
    redis: readRedis(e),
  };
  return {
    production,
    log: { level: e.LOG_LEVEL },
    db: { url: e.DATABASE_URL, poolSize: e.DATABASE_POOL },
    backplane,
    http: {
      host: e.HOST,
      port: e.PORT,
      corsOrigins: e.CORS_ORIGINS,
      maxBodyBytes: e.BODY_LIMIT_BYTES,
      trustedProxies: e.TRUSTED_PROXIES,
      maxPerAddress: e.CONNECTIONS_PER_ADDRESS,
      stacks: !production,
    },
    metrics: e.METRICS_PORT === undefined ? null : { host: e.HOST, port: e.METRICS_PORT, tenantIDs: e.METRICS_TENANTS },
    board: { host: e.HOST, port: e.BOARD_PORT, openOnLoopback: e.BOARD_OPEN_ON_LOOPBACK },
    mcp: { host: e.HOST, port: e.MCP_PORT, publicURL: e.MCP_PUBLIC_URL },
    auth: {
      issuer: e.AUTH_ISSUER,
      audience: e.AUTH_AUDIENCE,
      jwksURL: e.AUTH_JWKS_URL,
      devIssuerKeyFile: e.DEV_ISSUER_KEY_FILE,
      testBypass: e.AUTH_TEST_BYPASS,
    },
    apiKeys: { defaultDays: e.API_KEY_DEFAULT_DAYS },
    auditFlushMs: e.AUDIT_BUFFER_SECONDS * 1000,
    requestsPerMinute: { apiKey: e.API_KEY_REQUESTS_PER_MINUTE, user: e.USER_REQUESTS_PER_MINUTE },
    secrets: { keys: e.SECRETS_KEYS },
    outbound: { allow: e.OUTBOUND_ALLOW, deny: e.OUTBOUND_DENY },
    syslogPorts: e.SYSLOG_PORTS,
    files: { folder: e.FILES_DIR, s3: readS3(e) },
    oauth: { publicURL: e.PUBLIC_URL ?? '', providers: e.OAUTH_PROVIDERS, uiOrigins: e.CORS_ORIGINS },
    ai: readAI(e),
    tenantDatabases: {
      provision: e.TENANT_DATABASES,
      servers: tenantServersOf(e),
      ownURL: e.DATABASE_URL,
      onDemand: e.TENANT_DATABASES_ON_DEMAND,
      maxBytes: e.TENANT_DATABASES_MAX_BYTES,
      programs: e.PG_BIN,
      maxConnections: e.TENANT_DATABASES_CONNECTIONS,
      maxPerServer: e.TENANT_DATABASES_PER_SERVER,
    },
    worker: {
      slots: e.WORKER_SLOTS,
      leaseMs: Math.round(e.WORKER_SESSION_SECONDS * 1000),
      listenerLeaseMs: Math.round(e.LISTENER_LEASE_SECONDS * 1000),
      staleAfterMs: e.STALE_WORKFLOW_WINDOW * 1000,
      cronLateMs: e.CRON_LATE_SECONDS * 1000,
      nodeOutputMaxBytes: e.NODE_OUTPUT_MAX_BYTES,
      runOutputMaxBytes: e.RUN_OUTPUT_MAX_BYTES,
      heldRunsMaxBytes: e.HELD_RUNS_MAX_BYTES,
      retention: {
        runsMs: e.RUN_RETENTION_DAYS * DAY_MS,
        maxRunsMs: Math.max(e.RUN_RETENTION_DAYS, e.RUN_RETENTION_MAX_DAYS ?? 0) * DAY_MS,
        queryRunsMs: e.QUERY_RUN_RETENTION_DAYS * DAY_MS,
        operatorAuditMs: e.OPERATOR_AUDIT_RETENTION_DAYS * DAY_MS,
        auditMs: e.AUDIT_RETENTION_DAYS * DAY_MS,
        maxAuditMs: e.AUDIT_RETENTION_MAX_DAYS * DAY_MS,
      },
    },
    sandbox: {
      processes: e.SANDBOX_PROCESSES,
      isPerTenant: e.SANDBOX_PER_TENANT,
      maxOutputBytes: e.NODE_OUTPUT_MAX_BYTES,
    },
    heldBytes: { maxBytes: e.HELD_MAX_BYTES },
    shutdownMs: e.SHUTDOWN_SECONDS * 1000,
  };
}

function readRedis(e: Pick<z.output<typeof Environment>, `REDIS_${string}` & keyof typeof Environment.shape>) {
  if (!e.REDIS_URL) return undefined;
  const sentinels = e.REDIS_SENTINELS.map((address) => {
    const [host = '', port = '26379'] = address.split(':');
    return { host, port: Number(port) };
  });
  return { url: e.REDIS_URL, sentinels, sentinelMaster: e.REDIS_SENTINEL_MASTER };
}

function readAI(e: z.output<typeof Environment>): AISettings | null {
  const { AI_PROVIDER: provider, AI_MODEL: model } = e;
  if (provider === undefined) return null;
  if (model === undefined) throw new Error('Configuration: AI_MODEL is required with AI_PROVIDER');
  const settings = { provider, model, baseURL: e.AI_BASE_URL ?? null, apiKey: e.AI_API_KEY ?? null };
  const lack = lackOf(settings);
  if (lack) throw new Error(`Configuration: ${lack.field === 'apiKey' ? 'AI_API_KEY' : 'AI_BASE_URL'} ${lack.message}`);
  return settings;
}

function readS3(e: z.output<typeof Environment>): S3Place | undefined {
  const [bucket, accessKeyId, secretAccessKey] = [e.FILES_BUCKET, e.FILES_ACCESS_KEY_ID, e.FILES_SECRET_ACCESS_KEY];
  if (!bucket) return undefined;
  if (!accessKeyId || !secretAccessKey)
    throw new Error('Configuration: FILES_ACCESS_KEY_ID and FILES_SECRET_ACCESS_KEY are required with FILES_BUCKET');
  return { endpoint: e.FILES_ENDPOINT, region: e.FILES_REGION, bucket, accessKeyId, secretAccessKey };
}

function tenantServersOf(e: z.output<typeof Environment>): TenantServerPlace[] {
  return e.TENANT_DATABASES_URL.map(({ name, url }) => {
    if (name === OWN_SERVER) return { name, url: e.DATABASE_URL };
    if (hostAndPort(url) === hostAndPort(e.DATABASE_URL))
      throw new Error(
        `Configuration: TENANT_DATABASES_URL names the server of DATABASE_URL. If databases of tenants shall be on it, write the word ${OWN_SERVER} in place of its URL`,
      );
    return { name, url };
  });
}

const notInProduction = ['DEV_ISSUER_KEY_FILE', 'BOARD_OPEN_ON_LOOPBACK', 'AUTH_TEST_BYPASS'] as const;

function checkProduction(e: z.output<typeof Environment>): void {
  for (const name of notInProduction)
    if (e[name]) throw new Error(`Configuration: ${name} must not be set in production`);
  if (!e.AUTH_ISSUER) throw new Error('Configuration: AUTH_ISSUER is required in production');
  // Over http, anyone on the way could exchange the keys that tokens are checked with.
  for (const name of ['AUTH_ISSUER', 'AUTH_JWKS_URL'] as const)
    if (e[name] && !e[name].startsWith('https:'))
      throw new Error(`Configuration: ${name} must begin with https:// in production`);
  if (e.SECRETS_KEYS.length === 0)
    throw new Error('Configuration: SECRETS_KEYS is required in production (<keyID>:<base64 of 32 bytes>)');
}

function checkOAuth({ NODE_ENV, PUBLIC_URL, OAUTH_PROVIDERS }: z.output<typeof Environment>): void {
  if (OAUTH_PROVIDERS.length > 0 && !PUBLIC_URL)
    throw new Error('Configuration: PUBLIC_URL is required with OAUTH_PROVIDERS');
  if (NODE_ENV !== 'production') return;
  for (const { name, authorizationURL, tokenURL } of OAUTH_PROVIDERS)
    if (![PUBLIC_URL, authorizationURL, tokenURL].every((url) => url?.startsWith('https:')))
      throw new Error(`Configuration: in production PUBLIC_URL and the addresses of ${name} must begin with https://`);
}

/** An empty variable counts as not set. */
function parse<S extends z.ZodType>(schema: S, env: Record<string, string | undefined>): z.output<S> {
  const parsed = parseValue(schema, Object.fromEntries(Object.entries(env).filter(([, value]) => value !== '')));
  if (parsed.success) return parsed.data;
  throw new Error(`Configuration: ${describeIssues(parsed.issues)}`);
}
